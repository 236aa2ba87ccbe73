package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
