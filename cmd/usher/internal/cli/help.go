package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	near "github.com/usher-mcp/usher/internal/nearest"
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

// helpTopics are texts that usher help shows.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes},
	}
}

// helpCommand shows the help of a command or a topic.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: "Help about a command or a topic",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd := root
			for _, name := range args {
				next := child(cmd, name)
				if next == nil {
					return noHelp(cmd, name)
				}
				cmd = next
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

func noHelp(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("there is no help on %q", name)
	if near := near.Name(name, commandNames(cmd)); near != "" {
		text += "; did you mean usher help " + strings.TrimPrefix(cmd.CommandPath()+" ", "usher ") + near + "?"
	}
	names := commandNames(cmd)
	if len(names) == 0 {
		return usage(text, "See: "+cmd.CommandPath()+" --help")
	}
	return usage(text, "There is help on: "+strings.Join(names, ", "))
}

func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
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
