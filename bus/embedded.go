package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"maestro/internal/files"
)

// lockName is the file beside the store that one process locks.
const lockName = "lock"

// startTimeout bounds a start. A log of tens of millions of events starts in seconds.
const startTimeout = 5 * time.Minute

// embedded owns the nats-server in this process. The server has no listener: the only way in is InProcessConn.
type embedded struct {
	dir    string
	logger *slog.Logger
	lock   *storeLock
	held   *heldStore
	// used is Options.Used.
	used string

	// trouble is the error of the last file that the server failed to read or write, nil if none failed since the
	// start. After a failed write the server accepts no more, and does not tell its clients.
	trouble atomic.Pointer[error]

	mu      sync.Mutex
	server  *server.Server // nil while stopped
	started bool           // the server had the store open

	// expected is what the server must recover at a start, by stream. failed says that the last start did not complete:
	// an index that it wrote may be wrong.
	expected map[string]heldStream
	failed   bool
}

func newEmbedded(o Options) (*embedded, error) {
	if o.Dir == "" {
		return nil, errors.New("the store needs a directory: set Options.Dir")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the store directory: %w", err)
	}
	if err := mkdirDurably(dir); err != nil {
		return nil, fmt.Errorf("create the store directory: %w", full(err))
	}
	lock, err := lockStore(filepath.Join(dir, lockName))
	if err != nil {
		return nil, full(err)
	}
	held, err := holdStore(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store directory: %w", err), lock.close())
	}
	if !o.locked {
		if err := lockDir(held.dir, files.Lock); err != nil {
			return nil, errors.Join(err, held.close(), lock.close())
		}
	}
	e := &embedded{
		dir:    dir,
		logger: o.Logger,
		lock:   lock,
		held:   held,
		used:   o.Used,
	}
	return e, nil
}

// storeDir is the directory of everything that nats-server stores.
func (e *embedded) storeDir() string { return filepath.Join(e.dir, server.JetStreamStoreDir) }

// streamDir is the directory of one stream.
func (e *embedded) streamDir(stream string) string {
	return filepath.Join(e.storeDir(), "$G", "streams", stream)
}

// messagesDir is the directory of one stream's blocks.
func (e *embedded) messagesDir(stream string) string {
	return filepath.Join(e.streamDir(stream), "msgs")
}

func (e *embedded) options() *server.Options {
	return &server.Options{
		ServerName: "maestro",
		DontListen: true,
		NoSigs:     true,
		NoLog:      true,
		// A slow reader does not slow the appends.
		NoFastProducerStall: true,
		JetStream:           true,
		StoreDir:            e.held.through(),
		// The server syncs its files once a second. Under Always, the Bus syncs what it acknowledges; see syncAppended.
		SyncInterval: time.Second,
		// A limit derived from the free disk space at the start would be arbitrary: the disk itself is the limit.
		JetStreamMaxStore:      1 << 60,
		JetStreamMaxMemory:     256 << 20,
		DisableJetStreamBanner: true,
	}
}

// start syncs everything in the store and starts the server on it. If the start fails, it restores what the server
// deleted. found is the result of the check before.
func (e *embedded) start(ctx context.Context, found map[string]heldStream) error {
	e.failed = true
	if err := syncTree(e.storeDir()); err != nil {
		return fmt.Errorf("sync the store: %w", full(err))
	}
	if err := e.spare(found); err != nil {
		err = fmt.Errorf("give the blocks a second name for the start: %w", full(err))
		if _, putErr := e.putBack(); putErr != nil {
			err = e.leavesSpare(err, putErr)
		}
		return err
	}
	s, err := e.startServer(ctx)
	if err == nil {
		e.mu.Lock()
		e.server, e.started, e.failed = s, true, false
		e.mu.Unlock()
		if err := e.dropSpare(); err != nil {
			e.logger.Warn("the second names of the blocks cannot be removed; the next start tries again",
				"where", e.spareDir(), "why", err)
		}
		return nil
	}
	streams, putErr := e.putBack()
	if putErr != nil {
		return e.leavesSpare(err, putErr)
	}
	if len(streams) > 0 {
		err = fmt.Errorf("%w; it deleted blocks of %s, and all of them are back in their place", err,
			strings.Join(streams, ", "))
	}
	return err
}

// leavesSpare says where second names of blocks are left after a start that failed.
func (e *embedded) leavesSpare(err, putErr error) error {
	return fmt.Errorf("%w; its blocks are in %s, and the next start puts them back: %w", err, e.spareDir(), putErr)
}

// startServer starts a server, and makes sure that every stream with blocks is open.
func (e *embedded) startServer(ctx context.Context) (*server.Server, error) {
	s, err := server.NewServer(e.options())
	if err != nil {
		return nil, fmt.Errorf("create the embedded server: %w", full(err))
	}
	e.trouble.Store(nil)
	log := &serverLog{logger: e.logger, failed: func(err error) { e.trouble.Store(&err) }}
	s.SetLoggerV2(log, false, false, false)
	started := make(chan struct{})
	go func() {
		s.Start()
		close(started)
	}()
	<-started // a start cannot be interrupted; it ends by itself
	err = ctx.Err()
	if err == nil {
		err = e.ready(s, log)
	}
	if err != nil {
		stop(s)
		return nil, err
	}
	return s, nil
}

// ready returns why a started server cannot be used, or nil.
func (e *embedded) ready(s *server.Server, log *serverLog) error {
	// When Start returns, a server is either ready or has given up and never will be.
	if fatal := log.fatal.Load(); fatal != nil {
		if err := errors.Join(e.usable(), full(probe(e.dir))); err != nil {
			return fmt.Errorf("start the embedded server: %s: %w", *fatal, err)
		}
		return fmt.Errorf("start the embedded server: %s", *fatal)
	}
	if !s.ReadyForConnections(time.Second) || !s.JetStreamEnabled() {
		if err := probe(e.dir); err != nil {
			return fmt.Errorf("start the embedded server: %w", full(err))
		}
		return errors.New("the embedded server did not start JetStream; its log says why")
	}
	info, err := s.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return fmt.Errorf("ask the embedded server for its streams: %w", err)
	}
	states := map[string]server.StreamState{}
	for _, account := range info.AccountDetails {
		for i := range account.Streams {
			states[account.Streams[i].Name] = account.Streams[i].State
		}
	}
	if err := e.checkRecovered(states); err != nil {
		if warned := log.warned.Load(); warned != nil {
			err = fmt.Errorf("%w: %s", err, *warned)
		}
		return errors.Join(err, e.usable())
	}
	return nil
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// stop ends the server: it flushes its memory and closes all files.
func (e *embedded) stop() {
	e.mu.Lock()
	s := e.server
	e.server = nil
	e.mu.Unlock()
	if s == nil {
		return
	}
	if e.held.here() == nil {
		if err := e.clearRemade(); err != nil {
			e.logger.Warn("something that is not a file is in the place of a file of the store", "why", err)
		}
	}
	stop(s)
}

// close stops the server. whole says that no damage is known: the next start then need not read every block. untouched
// says that the log's finished blocks have not changed since they were checked. last is the log's last sequence.
func (e *embedded) close(whole, untouched bool, last uint64) error {
	started := e.started
	e.stop()
	here := e.held.here() == nil
	if started && whole && here {
		// What the note vouches for must survive a power cut.
		err := syncTree(e.storeDir())
		if err == nil {
			err = noteStore(e.dir).unless(untouched).ending(last).save(e.dir)
		}
		if err != nil {
			e.logger.Warn("the clean stop could not be noted; the next start checks every block", "why", err)
		}
	}
	return errors.Join(e.held.close(), e.lock.close())
}

// InProcessConn connects to the server that runs now, so that a connection survives a reopen by reconnecting.
func (e *embedded) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil, errors.New("the embedded server is being reopened")
	}
	return e.server.InProcessConn()
}
