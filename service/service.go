package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"maestro/engine"
	"maestro/events"
)

// Blobs keeps long texts and manifests by digest.
type Blobs interface {
	// PutBlob stores the bytes and answers their digest.
	PutBlob(ctx context.Context, blob []byte) (digest string, err error)
	// Blob returns the bytes behind a digest, "sha256-<64 hex>"; an error if there are none.
	Blob(ctx context.Context, digest string) ([]byte, error)
}

// Manifests puts copies of manifests where the sessions of this machine find them.
type Manifests interface {
	// PlaceManifest writes a session's manifest, whole or not at all.
	PlaceManifest(session string, content []byte) error
	// ManifestPath is where it is.
	ManifestPath(session string) string
}

// Config configures a Service. Handler, Log and Keys are required.
type Config struct {
	Handler *engine.Handler
	// Log is read by the audit.
	Log   engine.Log
	Blobs Blobs
	// Leases are notified of every session that calls; nil if there are none.
	Leases *engine.Leases
	// Denials records refusals that no Handler decides, and lists all; nil if nothing does.
	Denials *engine.Denials
	// Templates knows the workflows that Maestro comes with; nil if there are none.
	Templates Templates
	// Manifests gets a copy of each session's; nil if nobody looks for one.
	Manifests Manifests
	// Limits bound what each caller may use; the defaults if it is zero.
	Limits Limits
	Keys   Keys
	Logger *slog.Logger
	// Uses remembers when tokens were used; if nil, only until the end of the process.
	Uses *TokenUses
	// Backup writes a signed archive of everything up to a head; nil if there is none to be had. Long texts that are
	// lost are named in it.
	Backup func(ctx context.Context, w io.Writer, head events.Head) error
	// Clock compares the server's clock with the machine's wall clock, and lets the operator confirm that; nil if
	// nothing does.
	Clock Clock
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Stopping ends when the server begins to stop: whoever waits is then told to ask again. Never, if it is nil.
	Stopping context.Context
	// Hostname and Platform are shown with each session, as older clients expect.
	Hostname, Platform string
}

// Service answers what can be asked, and does what is asked for and permitted, whichever interface a call came by. Safe
// for concurrent use.
type Service struct {
	Config

	auth    authenticator
	ledger  *ledger
	limited limitedLog
	// unread is about long texts that could not be read.
	unread limitedLog
	// placing holds an item while a manifest is put in its place: one at a time.
	placing chan struct{}
	// rendering is for manifests that are being made, ordering for answers that are put in order of dependency, turns
	// for parts of long answers, trying for dry runs.
	rendering, ordering, turns, trying *places
	stored                             storedManifests
	// listMost is how many steps a list may take, all its portions together.
	listMost uint64
}

// New returns a Service.
func New(config Config) (*Service, error) {
	switch {
	case config.Handler == nil || config.Log == nil:
		return nil, errors.New("service: New needs a Handler and a Log")
	case len(config.Keys.AdminToken) == 0 || len(config.Keys.ServerKey) == 0:
		return nil, errors.New("service: New needs an admin token and a server key")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Stopping == nil {
		config.Stopping = context.Background()
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Uses == nil {
		config.Uses = OpenTokenUses(nil, config.Logger)
	}
	auth := newAuthenticator(config.Keys, config.Handler, config.Now)
	return &Service{
		Config:    config,
		auth:      auth,
		ledger:    newLedger(&config.Limits),
		placing:   make(chan struct{}, 1),
		rendering: newPlaces(rendered),
		ordering:  newPlaces(orderings),
		turns:     newPlaces(turnsAtOnce()),
		trying:    newPlaces(triesAtOnce),
		listMost:  engine.ReadMost,
	}, nil
}
