package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
)

// configCommand is at the same time the topic of help on how to write the configuration.
func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "How to write the configuration; its schema",
		Long: configHelp,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.configShow(), a.configWhere(), a.configSchema())
	return cmd
}

func (a *app) configSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema of the configuration, for editors: they check the file and complete it
while you write. Save it, and name it in the first line of the file:

    "$schema": "./mcp.config.schema.json"`,
		Example: "  usher config schema > mcp.config.schema.json",
		Args:    noArgs,
		RunE: a.run(func(context.Context, []string) error {
			_, err := a.out.Write(config.Schema())
			return err
		}),
	}
}
