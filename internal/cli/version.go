package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version returns the version stamped into the build.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// build is the build information of the binary.
type build struct {
	Version string `json:"version"`
	// Commit and Date describe the source of the build; Date is RFC 3339. They are empty if unknown.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	// Modified says that the source had uncommitted changes.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// buildOf reads what the Go command stamped into the binary; info may be nil.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Date = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// String returns the output of `maestro --version`.
func (b build) String() string {
	text := "maestro " + b.Version
	if b.Commit != "" {
		text += ", commit " + b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			text += " with changes"
		}
	}
	if b.Date != "" {
		text += ", " + b.Date
	}
	return text + " (" + b.Go + ", " + b.Platform + ")"
}

func newVersion(a *Run) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, its commit and its date",
		Args:  Takes,
		RunE: func(*cobra.Command, []string) error {
			a.showVersion()
			return nil
		},
	}
}

func (a *Run) showVersion() {
	b := thisBuild()
	a.Result(b, func() { a.Print("%s\n", b) })
}
