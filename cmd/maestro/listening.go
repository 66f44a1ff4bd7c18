package main

import (
	"context"
	"log/slog"
	"os"

	"maestro/engine"
	"maestro/internal/cli"
	"maestro/internal/clock"
	"maestro/internal/home"
	"maestro/internal/server/listen"
)

// announce records where the server listens, and its certificate, now and whenever another one is in use.
func announce(lock *home.Lock, address string, certificates *listen.Certificates, logger *slog.Logger) error {
	server := home.Server{Address: address, PID: os.Getpid()}
	if certificates != nil {
		server.Certificate = certificates.Fingerprint()
		certificates.OnChange(func(fingerprint string) {
			server.Certificate = fingerprint
			if err := lock.Announce(server); err != nil {
				logger.Error("the new certificate could not be recorded; programs of this machine do not accept it "+
					"until it is", "why", err)
			}
		})
	}
	return lock.Announce(server)
}

// listening announces the server's addresses once it can be reached; again says that an earlier server of this process
// announced them on stdout. nats is "" if NATS clients cannot reach it.
func listening(
	a *cli.Run, address, nats, dir string, damage error, times clock.Status, again bool, logger *slog.Logger,
) {
	data := struct {
		Version  string `json:"version"`
		Address  string `json:"address"`
		NATS     string `json:"nats,omitempty"`
		Home     string `json:"home"`
		PID      int    `json:"pid"`
		ReadOnly string `json:"readOnly,omitempty"`
		Clock    string `json:"clock,omitempty"`
	}{
		Version: cli.Version(),
		Address: address,
		NATS:    nats,
		Home:    dir,
		PID:     os.Getpid(),
	}
	about := []any{"pid", data.PID, "version", data.Version}
	if again { // otherwise stdout has these, and a terminal shows both
		about = append(about, "address", address, "home", dir)
		if nats != "" {
			about = append(about, "nats", nats)
		}
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
		if data.NATS != "" {
			a.Print("NATS clients can follow maestro.live.> on %s\n", data.NATS)
		}
		if data.Clock != "" {
			a.Print("CLOCK: %s\n       %s\n", data.Clock, next)
		}
	})
}
