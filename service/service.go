package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"maestro/engine"
	"maestro/events"
)

// Blobs stores long texts and manifests by digest.
type Blobs interface {
	// PutBlob stores the bytes and returns their digest.
	PutBlob(ctx context.Context, blob []byte) (digest string, err error)
	// Blob returns the bytes of a digest, "sha256-<64 hex>", or an error if there are none.
	Blob(ctx context.Context, digest string) ([]byte, error)
	// DeleteBlob deletes the bytes of a digest for good. It is no error if there are none.
	DeleteBlob(ctx context.Context, digest string) error
}

// Manifests puts copies of manifests where the sessions of this machine find them.
type Manifests interface {
	// PlaceManifest writes a session's manifest, completely or not at all.
	PlaceManifest(session string, content []byte) error
	// RemoveManifest removes a session's manifest. It is no error if there is none.
	RemoveManifest(session string) error
	// ManifestPath returns its path.
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
	// Denials records refusals that no Handler decides, and lists all of them; nil if none are recorded.
	Denials *engine.Denials
	// Templates holds the built-in workflows; nil if there are none.
	Templates Templates
	// LocalRunner is the name of the runner inside the server; "" if it has none.
	LocalRunner string
	// Agents returns the agents that the home configures; nil if there are none.
	Agents func() ConfiguredAgents
	// Skills finds the skills of this machine; nil if it has none.
	Skills Skills
	// Manifests receives a copy of each session's manifest; nil if nobody looks for one.
	Manifests Manifests
	// TextCopies returns the directories that hold earlier copies of the long texts; nil if there can be none.
	TextCopies func() ([]string, error)
	// Limits bound the use of each caller; the zero value stands for the defaults.
	Limits Limits
	Keys   Keys
	Logger *slog.Logger
	// Uses remembers when tokens were used; if nil, only until the end of the process.
	Uses *TokenUses
	// Backup writes a signed archive of everything up to a head; nil if backups are not available. The archive lists
	// lost long texts.
	Backup func(ctx context.Context, w io.Writer, head events.Head) error
	// Clock compares the server's clock with the machine's wall clock, and lets the operator confirm it; nil if there
	// is none.
	Clock Clock
	// Webhooks sends events to webhooks; nil if nobody does.
	Webhooks Webhooks
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Stopping ends when the server begins to stop: waiting callers are then told to ask again. If nil, it never ends.
	Stopping context.Context
	// Hostname and Platform are shown with each session.
	Hostname, Platform string
}

// Service executes the queries and commands that are permitted, whichever interface a call came by. It is safe for
// concurrent use.
type Service struct {
	Config

	// Views are the live views. Whoever serves them has to run them.
	Views *Live

	auth   authenticator
	logins logins
	firsts firstUses
	// began is when the Service was made; unauthenticated counts the calls without a valid credential since.
	began           time.Time
	unauthenticated atomic.Uint64
	ledger          *ledger
	limited         limitedLog
	delays          delays
	// unread logs long texts that could not be read.
	unread limitedLog
	// placing has a semaphore for the manifests of some sessions each: few are placed at a time, and those of one
	// session one after the other.
	placing [placedAtOnce]chan struct{}
	// pasts are the past states that were read last.
	pasts *pasts
	// rendering limits manifests that are being created, ordering answers that are sorted by dependency, turns parts of
	// long answers, trying dry runs.
	rendering, ordering, turns, trying *places
	stored                             storedManifests
	// runners are those that asked for work lately.
	runners runners
	// remembered has the events of timelines that were read last.
	remembered eventCache
	// delivery delivers what the sessions of this machine kept; nil before Deliver.
	delivery atomic.Pointer[Delivery]
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
	s := &Service{
		Config:    config,
		began:     config.Now(),
		pasts:     newPasts(),
		auth:      auth,
		ledger:    newLedger(&config.Limits),
		rendering: newPlaces(rendered),
		ordering:  newPlaces(orderings),
		turns:     newPlaces(turnsAtOnce()),
		trying:    newPlaces(triesAtOnce),
		listMost:  engine.ReadMost,
	}
	s.Views = newLive(config.Handler, config.Logger, s.TemplateIn)
	s.firsts.queue = make(chan tokenUse, usesWaiting)
	for i := range s.placing {
		s.placing[i] = make(chan struct{}, 1)
	}
	return s, nil
}
