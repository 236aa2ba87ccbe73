// Package router maps the names that agents and people write to one server and its tool.
//
// A tool has two full names: the canonical one, `mcp.<server>.<tool>` (`local.<tool>` for the tools of Usher itself), in
// rules, events and the terminal, and the one for model APIs, `mcp__<server>__<tool>`. The key is always the pair; a
// joined name is looked up, never split. Only a local tool can also be called by its bare name, and only while no
// server has one of that name: else nobody could tell what ran.
//
// The router decides nothing about permission and talks to no server.
package router
