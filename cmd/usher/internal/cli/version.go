package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/mcp"
)

func (a *app) version() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Say which version this is", Args: noArgs,
		RunE: a.run(func(context.Context, []string) error {
			if !a.json {
				_, err := fmt.Fprintln(a.out, "usher", versionText())
				return err
			}
			return writeJSON(a.out, struct {
				Version   string   `json:"version"`
				Commit    string   `json:"commit,omitempty"`
				Go        string   `json:"go"`
				Protocols []string `json:"protocols"`
			}{usher.Version, commit(), runtime.Version(), append(mcp.ModernRevisions(), mcp.LegacyRevisions()...)})
		}),
	}
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func versionText() string {
	text := usher.Version
	if c := commit(); c != "" {
		text += " (" + c[:min(len(c), 12)] + ")"
	}
	return text
}

// commit is what the binary was built from, if the build knew.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// writeJSON writes one value on one line. In a terminal, what could act on it is escaped.
func writeJSON(to *terminal, v any) error {
	e := json.NewEncoder(jsonWriter{to})
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type jsonWriter struct{ to *terminal }

var _ io.Writer = jsonWriter{}

// Write gets whole values.
func (w jsonWriter) Write(p []byte) (int, error) {
	if !w.to.tty {
		return w.to.Write(p)
	}
	_, err := w.to.WriteString(printableJSON(p))
	return len(p), err
}
