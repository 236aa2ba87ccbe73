package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// showResult prints a result: text to standard output, or to standard error if it tells of a failure.
func (a *app) showResult(r *usher.Result) error {
	to := a.out
	if r.IsError {
		to = a.err
	}
	if err := a.printResult(r, to); err != nil {
		return err
	}
	if r.IsError {
		return exit(fault.ExitTool)
	}
	return nil
}

func (a *app) printResult(r *usher.Result, to *terminal) error {
	if a.json {
		return a.printRaw(r.Raw)
	}
	shown := false
	for block := range mcp.Elements(mcp.Member(r.Raw, "content")) {
		if mcp.Text(mcp.Member(block, "type")) != "text" {
			fmt.Fprintln(a.err, a.err.paint(dim, describe(block)+" is not shown; --json has it"))
			continue
		}
		shown = true
		if err := printText(to, mcp.Text(mcp.Member(block, "text"))); err != nil {
			return err
		}
	}
	if s := mcp.Member(r.Raw, "structuredContent"); s != nil && !shown {
		return printText(to, string(s))
	}
	if r.IsError && !shown {
		return printText(to, "the tool says that it failed, and not why")
	}
	return nil
}

// printRaw keeps the bytes of the server, but for white space that would break the line.
func (a *app) printRaw(raw json.RawMessage) error {
	if strings.ContainsAny(string(raw), "\r\n") {
		return writeJSON(a.out, raw)
	}
	text := string(raw)
	if a.out.tty {
		text = printableJSON(raw)
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

// printText keeps all bytes where no terminal can be confused by them.
func printText(to *terminal, text string) error {
	if to.tty {
		text = lines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := to.WriteString(text)
	return err
}

// describe says in a line what a block is that isn't text.
func describe(block json.RawMessage) string {
	field := func(name string) string { return line(mcp.Text(mcp.Member(block, name))) }
	kind := field("type")
	switch kind {
	case "image", "audio":
		n := base64.StdEncoding.DecodedLen(len(mcp.Text(mcp.Member(block, "data"))))
		return fmt.Sprintf("%s (%s, %s)", kind, field("mimeType"), size(n))
	case "resource":
		return "resource (" + line(mcp.Text(mcp.Path(block, "resource", "uri"))) + ")"
	case "resource_link":
		return "resource_link (" + field("uri") + ")"
	case "":
		return "a block without a type"
	}
	return kind
}
