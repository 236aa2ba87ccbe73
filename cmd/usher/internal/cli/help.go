package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const firstConfig = `{
  "mcpServers": {
    "fs": {
      "command": "npx",
      "args": ["-y",
        "@modelcontextprotocol/server-filesystem",
        "/path/to/a/folder"]
    }
  }
}`

const configHelp = `Usher reads one file, by default ~/.config/usher/mcp.config.json; --config or
USHER_CONFIG name another. It is JSON; comments and trailing commas are allowed.

The servers are written as other MCP clients write them:

` + firstConfig + `

A remote server has "url": "https://…" (and "headers") in place of "command".
${NAME} is the value of a variable, ${NAME:-text} with a default.

    "env": { "JIRA_TOKEN": "${JIRA_TOKEN}" }

What may be called without asking stands under "permissions"; usher allow writes it.

Check the file with: usher doctor
`

// helpTopics are texts that usher help shows.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes},
		{Use: "config", Short: "How to write the configuration", Long: configHelp},
	}
}

const (
	helpWidth = 80 // where the width of the terminal isn't known
	mostHelp  = 100
)

// fitHelp lays help out for the terminal.
func (a *app) fitHelp(root *cobra.Command) {
	columns := helpWidth
	if w := a.out.width(); w > 0 {
		columns = min(w, mostHelp)
	}
	wrapped := fmt.Sprintf("Flags.FlagUsagesWrapped %d", columns)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", wrapped))
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = fill(cmd.Long, columns)
		show(cmd, args)
	})
}

// fill breaks paragraphs anew. Code, and lines that point to commands, stay as they are.
func fill(text string, columns int) string {
	var out []string
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, wrap(strings.Join(paragraph, " "), 0, 0, columns))
			paragraph = nil
		}
	}
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if l == "" || strings.ContainsAny(l[:1], " {}") || strings.HasPrefix(l, "Start with:") || strings.HasPrefix(l, "Exit codes:") {
			flush()
			out = append(out, l)
			continue
		}
		paragraph = append(paragraph, l)
	}
	flush()
	return strings.Join(out, "\n")
}
