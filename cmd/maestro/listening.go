package main

import (
	"context"
	"log/slog"
	"os"

	"maestro/engine"
	"maestro/internal/cli"
	"maestro/internal/clock"
)

// listening announces the server's address once it can be reached; again says that an earlier server of this process
// announced it on stdout.
func listening(
	a *cli.Run, address, dir string, damage error, times clock.Status, again bool, logger *slog.Logger,
) {
	data := struct {
		Version  string `json:"version"`
		Address  string `json:"address"`
		Home     string `json:"home"`
		PID      int    `json:"pid"`
		ReadOnly string `json:"readOnly,omitempty"`
		Clock    string `json:"clock,omitempty"`
	}{
		Version: cli.Version(),
		Address: address,
		Home:    dir,
		PID:     os.Getpid(),
	}
	about := []any{"pid", data.PID, "version", data.Version}
	if again { // otherwise stdout has these, and a terminal shows both
		about = append(about, "address", address, "home", dir)
	}
	logger.Info("listening", about...)
	readOnly := ""
	if damage != nil {
		data.ReadOnly = damage.Error()
		readOnly = " READ-ONLY"
		level := slog.LevelError
		if engine.IsReadOnlyByRequest(damage) {
			level = slog.LevelInfo
		}
		logger.Log(context.Background(), level, "READ-ONLY: the server answers reads and refuses writes",
			"why", damage, "next", engine.Advice(damage))
	}
	if again {
		return
	}
	var next string
	data.Clock, next = times.Explain()
	a.Result(data, func() {
		a.Print("maestro %s listening on %s (home %s)%s\n", data.Version, address, dir, readOnly)
		if data.Clock != "" {
			a.Print("CLOCK: %s\n       %s\n", data.Clock, next)
		}
	})
}
