package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the version that the build was stamped with.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func newVersion(a *Run) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  Takes,
		RunE: func(*cobra.Command, []string) error {
			shown := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			a.Result(shown, func() { a.Print("maestro %s (%s, %s)\n", shown.Version, shown.Go, shown.Platform) })
			return nil
		},
	}
}
