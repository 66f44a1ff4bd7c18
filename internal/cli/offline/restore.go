package offline

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/export"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/salvage"
	"maestro/internal/server/guard"
	"maestro/internal/syntax"
)

type restoreOptions struct {
	home, head, signer, blobsFrom string
	// ownHome is the home without --home.
	ownHome      string
	acceptFaults bool
	// imports says that the command is `maestro import`, which reads exports only.
	imports bool
}

// verb is the command's name.
func (o *restoreOptions) verb() string {
	if o.imports {
		return "import"
	}
	return "restore"
}

// done says of a file that the command took it.
func (o *restoreOptions) done() string {
	if o.imports {
		return "imported"
	}
	return "restored"
}

// restore is `maestro restore`.
type restore struct {
	*cli.Run
	o restoreOptions
}

// NewRestore returns `maestro restore`.
func NewRestore(a *cli.Run) *cobra.Command {
	c := &restore{Run: a}
	cmd := &cobra.Command{
		Use:   "restore <file>",
		Short: "Make a new home from a backup or an export; no server may hold it",
		Args:  cli.Takes,
		Long: `Make a new home from a backup, or from an export of the whole log. The command
decides every event again, compares every long text with its digest, and checks
the signature. If it finds a fault, it refuses the file and creates nothing.

An export has no signature, so a home that has a key accepts one only with
--accept-faults: compare it with --head. It contains long texts only if it was
made with --texts: otherwise take them with --texts-from from a backup or from an
export that has them, or go without them with --accept-faults.

Use a backup for what you keep in case the home is lost: it is signed. Use
"maestro import" for an export, such as to move a server.`,
		RunE: cli.Running(c.run),
	}
	c.flags(cmd)
	return cmd
}

// NewImport returns `maestro import`.
func NewImport(a *cli.Run) *cobra.Command {
	c := &restore{Run: a, o: restoreOptions{imports: true}}
	cmd := &cobra.Command{
		Use:   "import <file>",
		Short: "Make a new home from an export of the whole log; no server may hold it",
		Args:  cli.Takes,
		Long: `Make a new home from an export of the whole log: an identical server, with the
same events, the same views and the same head. Make the file with
"maestro audit export FILE --texts".

The command decides every event again and compares every long text with its
digest. If it finds a fault, it refuses the file and creates nothing. Event N is
on line N of the file. An export has no signature: compare it with --head.

The home gets a new token and a new key, so you have to spawn its sessions
again. "maestro restore" does the same with a backup, which is signed.`,
		RunE: cli.Running(c.run),
	}
	c.flags(cmd)
	return cmd
}

func (c *restore) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.o.home, "home", "", "the home; else MAESTRO_HOME, else ~/.maestro")
	f.StringVar(
		&c.o.head, "head", "", "SEQUENCE:HASH, a head that was kept elsewhere: the restored log must pass through it",
	)
	if !c.o.imports {
		f.StringVar(&c.o.signer, "signer", "",
			"who must have signed the backup, as 'maestro backup' prints it; else the home's own key, if it has one")
	}
	f.StringVar(&c.o.blobsFrom, "texts-from", "",
		"a backup, or an export made with --texts, to take missing long texts from")
	f.BoolVar(
		&c.o.acceptFaults, "accept-faults", false,
		c.o.verb()+" in spite of faults, and note them in the home's restored.json",
	)
}

func (c *restore) run(ctx context.Context, args []string) error {
	if err := c.NoHomeBySession(c.o.verb() + "s no home"); err != nil {
		return err
	}
	var err error
	if c.o.ownHome, err = home.Path(c.Getenv); err != nil && c.o.home == "" {
		return err
	}
	c.o.home = cmp.Or(c.o.home, c.o.ownHome)
	return restoreHome(ctx, c.Run, args[0], c.o)
}

// restored is the result of a restore; it is stored in the home.
type restored struct {
	Home     string         `json:"home"`
	From     string         `json:"from"`
	At       time.Time      `json:"at"`
	Head     events.Head    `json:"head"`
	Created  time.Time      `json:"created,omitzero"`
	Signer   string         `json:"signer,omitempty"`
	Accepted bool           `json:"acceptedFaults"`
	Faults   []engine.Fault `json:"faults"`
}

func restoreHome(ctx context.Context, a *cli.Run, file string, o restoreOptions) (err error) {
	witness, err := parseHead(o.head, "--head")
	if err != nil {
		return err
	}
	if err := checkSigner(o.signer); err != nil {
		return err
	}
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return err
	}
	defer done()
	archive := bufio.NewReader(in)
	exported, err := isExport(file, archive)
	switch {
	case err != nil:
		return err
	case exported && o.signer != "":
		return exportIsUnsigned()
	case o.imports:
		if err := mustBeExport(file, archive, "`maestro import`"); err != nil {
			return err
		}
	}
	if o.blobsFrom != "" { // before anything is created
		if err := holdsTexts(a, o.blobsFrom); err != nil {
			return err
		}
	}
	_, statErr := os.Lstat(o.home)
	lock, err := guard.Hold(o.home)
	if err != nil {
		return restoreFailed(o.home, err)
	}
	defer func() {
		if err != nil && errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, lock.Discard())
			return
		}
		err = errors.Join(err, lock.Release())
	}()
	left, err := bus.RemoveUnbuilt(lock.Store()) // the restore holds the lock
	if err != nil {
		return restoreFailed(o.home, err)
	}
	for _, dir := range left {
		a.Say("Removed %s, left by a restore that was killed\n", dir)
	}
	r := &restoring{
		Run:      a,
		options:  o,
		file:     file,
		verifier: engine.NewVerifier(),
		kept:     map[string]bool{},
		witness:  witness,
		judging:  true,
		isExport: exported,
	}
	if err := r.expectSigner(lock); err != nil {
		return err
	}
	if finished, err := r.finishKilled(lock, archive); finished || err != nil {
		return err
	}
	if err := mustBeEmpty(lock, o); err != nil {
		return err
	}
	var result restored
	_, err = bus.Build(ctx, lock.Store(), func(store *bus.Builder) error {
		r.store = store
		if err := r.fill(archive); err != nil {
			return err
		}
		result = r.result()
		return r.noteOrigin(lock.Home, result)
	})
	if err != nil {
		return restoreFailed(o.home, err)
	}
	a.Result(result, func() { r.say(result) })
	r.settle(lock)
	return nil
}

// holdsTexts fails when a file cannot supply long texts.
func holdsTexts(a *cli.Run, file string) error {
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return err
	}
	defer done()
	reader := bufio.NewReader(in)
	exported, err := isExport(file, reader)
	if err != nil || !exported {
		return err
	}
	held, err := export.Texts(reader, func(string) bool { return false }, nil)
	switch {
	case err != nil:
		return cli.Unreadable(file, err)
	case held == 0:
		return failure.Usage("%s is an export that holds no long texts", file).
			WithWhy("it was made without --texts, or its log has none").
			WithNext("name a backup, or an export that was made with --texts")
	}
	return nil
}

// mustBeEmpty refuses a home that has a log.
func mustBeEmpty(lock *home.Lock, o restoreOptions) error {
	for _, path := range []string{lock.Store(), lock.Head(), lock.Snapshots()} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return &failure.Error{
				Code:    failure.Conflict,
				Message: "The home " + o.home + " is not empty: it has " + path,
				Why:     "a log is restored into an empty home, so that nothing is lost",
				Next:    "choose another with --home, or move this one away",
			}
		}
	}
	return nil
}

// restoreFailed returns the error that a home could not be created, whatever the quality of the file.
func restoreFailed(dir string, err error) error {
	var own *failure.Error
	var problem *home.Problem
	var kind *home.KindError
	switch {
	case errors.As(err, &own):
		return own
	case guard.IsReadOnly(err):
		return guard.OnReadOnly(dir, err, "name another with --home, or make the disk writable")
	case errors.As(err, &problem), errors.As(err, &kind):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case bus.IsFull(err):
		return guard.DiskFull(dir, err, "make room on that disk and run it again, or name another home with --home; "+
			"nothing was left behind")
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "RESTORE_FAILED",
		Message: "The home " + dir + " could not be made",
		Next:    "nothing was left behind; fix the cause, and run it again",
		Err:     err,
	}
}

// WarnOfOrigin logs what a home's log lacks because of its origin: it was restored in spite of faults, or salvaged
// incompletely.
func WarnOfOrigin(h *home.Home, logger *slog.Logger) {
	warnOfRestore(h, logger)
	warnOfSalvage(h, logger)
}

func warnOfSalvage(h *home.Home, logger *slog.Logger) {
	report, err := salvage.ReadReport(h.Dir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		logger.Warn("salvage.json cannot be read: it says what this home lacks since it was salvaged", "why", err)
	case !report.Whole():
		first, _, _ := strings.Cut(report.Lost(), "\n")
		logger.Warn("this home was salvaged, and not everything that was acknowledged is there", "from", report.From,
			"first", first, "next", "see salvage.json in the home for all that is missing")
	}
}

func warnOfRestore(h *home.Home, logger *slog.Logger) {
	note, err := h.RestoreNote()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var told restored
	if err == nil {
		err = syntax.Plain(json.Unmarshal(note, &told))
	}
	switch {
	case err != nil:
		logger.Warn("restored.json cannot be read: it says how this home was restored", "why", err)
	case told.Accepted && len(told.Faults) > 0:
		logger.Warn("this home was restored in spite of faults", "from", told.From, "faults", len(told.Faults),
			"first", faultLine(told.Faults[0]), "next", "see restored.json in the home, and `maestro audit verify`")
	}
}

// isExport distinguishes by the first bytes: an export consists of lines of JSON, a backup is compressed. A compressed
// export is refused.
func isExport(file string, in *bufio.Reader) (bool, error) {
	first, err := in.Peek(len(export.Start))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return false, cli.Unreadable(file, err)
	case string(first) == export.Start:
		return true, nil
	case isCompressedExport(in):
		return false, &failure.Error{
			Status:  http.StatusUnprocessableEntity,
			Code:    failure.File,
			Message: "The file " + file + " is a compressed export",
			Why:     "an export is read as `maestro audit export` wrote it",
			Next:    "unpack it with `gunzip`, and name the unpacked file",
		}
	}
	return false, nil
}

// isCompressedExport reports whether what is compressed begins as an export. It looks only at what was read already,
// because whoever writes into a pipe may wait for what becomes of its beginning.
func isCompressedExport(in *bufio.Reader) bool {
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" {
		return false
	}
	begins, _ := in.Peek(in.Buffered())
	unpacked, err := gzip.NewReader(bytes.NewReader(begins))
	if err != nil {
		return false
	}
	first := make([]byte, len(export.Start))
	_, err = io.ReadFull(unpacked, first)
	return err == nil && string(first) == export.Start
}
