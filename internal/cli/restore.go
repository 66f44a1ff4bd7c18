package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/export"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
)

type restoreOptions struct {
	home, head, signer, blobsFrom string
	// ownHome is the home without --home.
	ownHome      string
	acceptFaults bool
}

func (a *Run) restoreCommand() *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a new home from a backup or an export; no server may hold it",
		Args:  Takes("FILE"),
		Long: `Make a new home from a backup, or from an export of the whole log. Every event is decided again, every
long text is compared with its digest, and the signature is checked. A file with a fault is refused, and nothing is left
behind.

An export has no signature, so a home that has a key takes one with --accept-faults only: compare it with --head. It
holds no long texts either: take them from a backup with --texts-from, or go without them with --accept-faults.`,
		RunE: Running(func(ctx context.Context, args []string) error {
			var err error
			if o.ownHome, err = home.Path(a.Getenv); err != nil && o.home == "" {
				return err
			}
			o.home = cmp.Or(o.home, o.ownHome)
			return a.restore(ctx, args[0], o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.home, "home", "", "the home; else MAESTRO_HOME, else ~/.maestro")
	f.StringVar(
		&o.head, "head", "", "SEQUENCE:HASH, a head that was kept elsewhere: the restored log must pass through it",
	)
	f.StringVar(&o.signer, "signer", "",
		"who must have signed the backup, as 'maestro backup' prints it; else the home's own key, if it has one")
	f.StringVar(&o.blobsFrom, "texts-from", "", "another backup, to take missing long texts from")
	f.BoolVar(
		&o.acceptFaults, "accept-faults", false,
		"restore in spite of faults, and note them in the home's restored.json",
	)
	return cmd
}

// restored is what a restore came to; it stays in the home.
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

func (a *Run) restore(ctx context.Context, file string, o restoreOptions) (err error) {
	witness, err := parseHead(o.head, "--head")
	if err != nil {
		return err
	}
	if err := checkSigner(o.signer); err != nil {
		return err
	}
	in, done, err := a.open(file)
	if err != nil {
		return err
	}
	defer done()
	archive := bufio.NewReader(in)
	exported, err := isExport(archive)
	switch {
	case err != nil:
		return unreadable(file, err)
	case exported && o.signer != "":
		return exportIsUnsigned()
	}
	if o.blobsFrom != "" { // before anything is made
		if err := a.holdsTexts(o.blobsFrom); err != nil {
			return err
		}
	}
	_, statErr := os.Lstat(o.home)
	lock, err := HoldHome(o.home)
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
	if err := mustBeEmpty(lock, o.home); err != nil {
		return err
	}
	left, err := bus.RemoveUnbuilt(lock.Store()) // whoever restores has the lock
	if err != nil {
		return restoreFailed(o.home, err)
	}
	for _, dir := range left {
		a.say("Removed %s, which a restore left that was killed\n", dir)
	}
	r := &restoring{
		Run: a, options: o, file: file, verifier: engine.NewVerifier(), kept: map[string]bool{}, witness: witness,
		judging: true, isExport: exported,
	}
	if err := r.expectSigner(lock); err != nil {
		return err
	}
	head, err := bus.Build(ctx, lock.Store(), func(store *bus.Builder) error {
		r.store = store
		return r.fill(archive)
	})
	if err != nil {
		return restoreFailed(o.home, err)
	}
	result := restored{
		Home: o.home, From: file, At: time.Now().UTC(), Head: head, Created: r.contents.Created, Signer: r.contents.Signer,
		Accepted: len(r.verdict.Faults) > 0, Faults: r.verdict.Faults,
	}
	note, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	if err := lock.NoteRestore(append(note, '\n')); err != nil {
		return err
	}
	a.Result(result, func() { r.say(result) })
	return nil
}

// holdsTexts fails when long texts cannot come from a file.
func (a *Run) holdsTexts(file string) error {
	in, done, err := a.open(file)
	if err != nil {
		return err
	}
	defer done()
	exported, err := isExport(bufio.NewReader(in))
	switch {
	case err != nil:
		return unreadable(file, err)
	case exported:
		return failure.Usage("%s is an export, which holds no long texts", file).WithNext("name a backup with --texts-from")
	}
	return nil
}

// mustBeEmpty refuses a home that has a log.
func mustBeEmpty(lock *home.Lock, dir string) error {
	for _, path := range []string{lock.Store(), lock.Head(), lock.Snapshots()} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return &failure.Error{
				Status: http.StatusConflict, Code: "CONFLICT", Message: "The home " + dir + " is not empty: it has " + path,
				Why: "a log is restored into an empty home, so that nothing is lost", Next: "choose another with --home, or move this one away",
			}
		}
	}
	return nil
}

// restoreFailed is about a home that could not be made, whatever the file is worth.
func restoreFailed(dir string, err error) error {
	var own *failure.Error
	var problem *home.Problem
	var kind *home.KindError
	switch {
	case errors.As(err, &own):
		return own
	case IsReadOnly(err):
		return OnReadOnly(dir, err, "name another with --home, or make the disk writable")
	case errors.As(err, &problem), errors.As(err, &kind):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case bus.IsFull(err):
		return DiskFull(dir, err, "make room on that disk and run it again, or name another home with --home; "+
			"nothing was left behind")
	}
	return &failure.Error{
		Status: http.StatusInternalServerError, Code: "RESTORE_FAILED",
		Message: "The home " + dir + " could not be made",
		Next:    "nothing was left behind; look at the reason, and run it again", Err: err,
	}
}

// restoring judges a log while it is put into a new store.
type restoring struct {
	Run      *Run
	options  restoreOptions
	file     string
	store    *bus.Builder
	verifier *engine.Verifier
	verdict  engine.Verdict
	judging  bool
	witness  *events.Head
	// passed says that the log went through the head that was kept elsewhere.
	passed bool
	// signer must have signed, own is the home's key; "" if nobody is expected, and if the home has none.
	signer, own string
	// kept are the long texts in the store.
	kept     map[string]bool
	contents bus.BackupContents
	isExport bool
}

// expectSigner decides whose signature counts: who is named, else the home's own key.
func (r *restoring) expectSigner(lock *home.Lock) error {
	key, err := lock.BackupSigner()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		r.own = bus.SignerName(key)
	}
	if r.signer = r.options.signer; r.signer == "" {
		r.signer = r.own
	}
	return nil
}

// fill puts the log and its texts into the store, and refuses them when they have faults that nobody accepted.
func (r *restoring) fill(in *bufio.Reader) error {
	var err error
	if r.isExport {
		err = export.ReadLines(in, r.line)
	} else {
		r.contents, err = bus.ReadBackup(in, bus.BackupVisitor{Message: r.message, Blob: r.text})
	}
	if err != nil {
		return notWhole(r.file, err)
	}
	if r.witness != nil && !r.passed {
		return headDiffers(r.file, fmt.Sprintf("its log ends at %s, before the head %s", r.store.Head(), r.witness))
	}
	if err := r.textsFrom(); err != nil {
		return err
	}
	loseTexts(r.verifier, r.kept, r.contents)
	r.checkSigner()
	if r.verdict, err = r.verifier.Verdict(); err != nil {
		return err
	}
	return r.accept()
}

// line takes a line of an export, whose hash must be that of its message.
func (r *restoring) line(l export.Line) error {
	if what := l.Differs(); what != "" {
		r.verifier.Fault(l.Sequence, engine.FaultChain, "%s", what)
	}
	return r.message(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()})
}

func (r *restoring) message(m events.Message) error {
	r.judging = r.verifier.Event(m)
	if err := r.store.Message(m); err != nil {
		return err
	}
	if head := r.store.Head(); r.witness != nil && head.Sequence == r.witness.Sequence {
		if head != *r.witness {
			return headDiffers(r.file,
				fmt.Sprintf("event %d has the hash %s; the head is %s", head.Sequence, head.Hash, r.witness))
		}
		r.passed = true
	}
	return nil
}

func (r *restoring) text(digest string, content []byte) error {
	r.kept[digest] = true
	return r.store.Blob(content)
}

// textsFrom takes what is missing from another backup.
func (r *restoring) textsFrom() error {
	if r.options.blobsFrom == "" {
		return nil
	}
	in, done, err := r.Run.open(r.options.blobsFrom)
	if err != nil {
		return err
	}
	defer done()
	wanted := map[string]bool{}
	for _, named := range r.verifier.Texts() {
		wanted[named.Digest] = !r.kept[named.Digest]
	}
	for _, digest := range missingTexts(r.contents) {
		wanted[digest] = !r.kept[digest]
	}
	_, err = bus.ReadBackup(bufio.NewReader(in), bus.BackupVisitor{Blob: func(digest string, content []byte) error {
		if !wanted[digest] {
			return nil
		}
		return r.text(digest, content)
	}})
	return notWhole(r.options.blobsFrom, err)
}

func (r *restoring) checkSigner() {
	expects := "this home"
	if r.options.signer != "" {
		expects = "--signer"
	}
	if !r.isExport {
		judgeSignature(r.verifier, r.contents, r.signer, expects)
		if r.signer == "" && r.contents.Signer == "" && r.contents.Unsealed == nil {
			r.verifier.Fault(r.store.Head().Sequence, engine.FaultSignature,
				"the backup has no signature: a version before signatures made it, or somebody removed it")
		}
	} else if r.own != "" {
		r.verifier.Fault(r.store.Head().Sequence, engine.FaultSignature,
			"an export has no signature; this home expects %s", r.own)
	}
}

// accept refuses a log that has faults, unless they were accepted and the log can be served with them.
func (r *restoring) accept() error {
	if len(r.verdict.Faults) == 0 || r.options.acceptFaults && r.judging {
		return nil
	}
	var why strings.Builder
	for _, fault := range r.verdict.Faults {
		why.WriteString(faultLine(fault) + "\n")
	}
	next := "use another backup; or restore it all the same with --accept-faults, which notes the faults in the home"
	if !r.judging {
		next = "use another file; the log cannot be served as it is, so --accept-faults does not help"
	}
	switch rules := rulesOf(r.verdict.Faults); {
	case slices.Equal(rules, []engine.FaultRule{engine.FaultText}):
		next = "take the texts from a backup that has them: `" + r.command("--texts-from BACKUP") +
			"`; or go without them with --accept-faults"
	case r.isExport && slices.Equal(rules, []engine.FaultRule{engine.FaultSignature}):
		next = "restore a backup that this home made; or restore the export with --accept-faults if you trust it, " +
			"and with --head if you kept a head"
	}
	return &failure.Error{
		Status: http.StatusUnprocessableEntity, Code: "RESTORE_REFUSED",
		Message: fmt.Sprintf("The file %s is not restored: it has %s%s",
			r.file, Many(len(r.verdict.Faults), "fault"), unjudged(r.verdict)),
		Why: strings.TrimRight(why.String(), "\n"), Next: next,
		Details: map[string]any{"faults": r.verdict.Faults, "head": r.verdict.Head},
	}
}

// command gives the command line of this restore, with another flag.
func (r *restoring) command(flag string) string {
	line := "maestro restore " + quoted(r.file)
	if r.options.home != r.options.ownHome {
		line += " --home " + quoted(r.options.home)
	}
	return line + " " + flag
}

// startCommand gives the command that serves a home.
func startCommand(dir, own string) string {
	if dir == own {
		return "maestro serve"
	}
	return "MAESTRO_HOME=" + quoted(dir) + " maestro serve"
}

// rulesOf gives the rules that faults break, each once.
func rulesOf(faults []engine.Fault) (rules []engine.FaultRule) {
	for _, fault := range faults {
		if !slices.Contains(rules, fault.Rule) {
			rules = append(rules, fault.Rule)
		}
	}
	return rules
}

func headDiffers(file, why string) error {
	return &failure.Error{
		Status: http.StatusConflict, Code: "HEAD_DIFFERS", Why: why,
		Message: "The file " + file + " does not contain this head",
		Next:    "use another backup; without --head, the log is not compared with a head that you kept",
	}
}

// warnOfRestore logs that a home was restored in spite of faults.
func WarnOfRestore(h *home.Home, logger *slog.Logger) {
	note, err := h.RestoreNote()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var told restored
	if err == nil {
		err = json.Unmarshal(note, &told)
	}
	switch {
	case err != nil:
		logger.Warn("restored.json cannot be read: it says how this home was restored", "why", err)
	case told.Accepted && len(told.Faults) > 0:
		logger.Warn("this home was restored in spite of faults", "from", told.From, "faults", len(told.Faults),
			"first", faultLine(told.Faults[0]), "next", "see restored.json in the home, and `maestro audit verify`")
	}
}

// say tells what was restored, and what could not be checked.
func (r *restoring) say(result restored) {
	a := r.Run
	a.Print("Restored %s into %s, head %s\n", Many(int(result.Head.Sequence), "event"), result.Home, result.Head)
	for _, fault := range result.Faults {
		a.Print("Accepted fault: %s\n", faultLine(fault))
	}
	switch {
	case r.isExport:
		a.Print("An export has no signature, and does not say where the log ended: " +
			"compare with --head if you kept one\n")
	case !r.contents.Signed:
		a.Print("The backup has no signature; nothing proves who made it\n")
	case result.Signer == "":
		a.Print("The signature does not cover this file; nothing proves who made it\n")
	case r.signer != "" && result.Signer != r.signer:
		a.Print("Another key signed the backup: %s\n", result.Signer)
	case slices.ContainsFunc(missingTexts(r.contents), func(digest string) bool { return !r.kept[digest] }):
		a.Print("The signer is %s; the signature covers long texts that are not here\n", result.Signer)
	case r.signer == "":
		a.Print("The signature is valid. The signer is %s; check it with --signer\n", result.Signer)
	case result.Signer == r.own:
		a.Print("This home's own key signed it\n")
	}
	if r.own == "" {
		a.Print("The home gets a new token and a new key: the secrets of its sessions are no longer valid\n")
	}
	a.Print("Start it with `%s`\n", startCommand(result.Home, r.options.ownHome))
}

// isExport looks at the first bytes: an export is lines of JSON, a backup is compressed.
func isExport(in *bufio.Reader) (bool, error) {
	first, err := in.Peek(1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil && first[0] == '{', err
}
