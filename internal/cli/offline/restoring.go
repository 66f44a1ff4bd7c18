package offline

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"maestro/api/export"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/safetext"
)

// restoring verifies a log while it is put into a new store.
type restoring struct {
	Run      *cli.Run
	options  restoreOptions
	file     string
	store    *bus.Builder
	verifier *engine.Verifier
	verdict  engine.Verdict
	judging  bool
	witness  *events.Head
	// passed says that the log contains the head that was stored elsewhere.
	passed bool
	// signer must have signed, own is the home's key; "" if no signer is expected, and if the home has no key.
	signer, own string
	// kept are the long texts in the store.
	kept     map[string]bool
	contents bus.BackupContents
	isExport bool
	// ended says that the last line of the export confirmed where its log ended.
	ended bool
}

// expectSigner determines the expected signer: the named one, or else the home's own key.
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

// fill puts the log and its texts into the store, and refuses faults that were not accepted.
func (r *restoring) fill(in *bufio.Reader) error {
	var err error
	if r.isExport {
		r.ended, err = export.ReadAll(in, r.line, r.exportedText)
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

// line handles a line of an export, whose hash must be that of its message.
func (r *restoring) line(l export.Line) error {
	if what := l.Differs(); what != "" {
		r.verifier.Fault(l.Sequence, engine.FaultChain, "%s", what)
	}
	return r.message(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()})
}

func (r *restoring) message(m events.Message) error {
	if !strings.HasPrefix(m.Subject, events.SubjectPrefix) || strings.ContainsAny(m.Subject, " \t\r\n") {
		return fmt.Errorf("event %d has the subject %q, which belongs to no stream", m.Sequence, m.Subject)
	}
	if r.judging = r.verifier.Event(m); !r.judging {
		if event, err := events.Decode(m.Body); err == nil { // the file is refused, with its texts as they are
			r.verifier.NoteTexts(m.Sequence, event.Data)
		}
	}
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

// exportedText takes a text of an export. The events that name texts came before it.
func (r *restoring) exportedText(t export.Text) error {
	switch {
	case !r.judging: // the file will be refused for that
		r.kept[t.Digest] = r.kept[t.Digest] || t.Lost == "" && !t.Redacted
		return nil
	case !r.verifier.NamesText(t.Digest), t.Redacted:
		return &export.DamageError{Why: export.Unnamed(t).Error()}
	case t.Lost != "":
		r.contents.Lost = append(r.contents.Lost, bus.LostBlob{Digest: t.Digest, Why: t.Lost})
		return nil
	}
	return r.text(t.Digest, t.Content)
}

// textsFrom takes missing texts from another backup, or from an export.
func (r *restoring) textsFrom() error {
	if r.options.blobsFrom == "" {
		return nil
	}
	in, done, err := cli.OpenFile(r.Run, r.options.blobsFrom)
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
	reader := bufio.NewReader(in)
	if exported, err := isExport(r.options.blobsFrom, reader); err != nil {
		return err
	} else if exported {
		_, err := export.Texts(reader, func(digest string) bool { return wanted[digest] }, func(content []byte) error {
			return r.text(bus.Digest(content), content)
		})
		return err
	}
	_, err = bus.ReadBackup(reader, bus.BackupVisitor{Blob: func(digest string, content []byte) error {
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

// accept refuses a log with faults, unless they were accepted and the log can be served with them.
func (r *restoring) accept() error {
	newer := r.verifier.Newer()
	if len(r.verdict.Faults) == 0 || r.options.acceptFaults && r.judging && newer == nil {
		return nil
	}
	var why strings.Builder
	for _, fault := range r.verdict.Faults {
		why.WriteString(faultLine(fault) + "\n")
	}
	next := "use another backup; or restore it anyway with --accept-faults, which records the faults in the home"
	if !r.judging {
		next = "use another file; the log cannot be served as it is, so --accept-faults does not help"
	}
	switch rules := rulesOf(r.verdict.Faults); {
	case newer != nil:
		next = "use a newer maestro: a newer version wrote this log, and a server of this version would refuse it"
	case slices.Equal(rules, []engine.FaultRule{engine.FaultText}):
		next = "take the texts from a backup that has them: `" + r.command("--texts-from BACKUP") +
			"`; or go without them with --accept-faults"
		if r.isExport {
			next = "export again with the texts: `maestro audit export FILE --texts`; or " + next
		}
	case r.isExport && slices.Equal(rules, []engine.FaultRule{engine.FaultSignature}):
		next = "restore a backup that this home made; or restore the export with --accept-faults if you trust it, " +
			"and with --head if you kept a head"
	}
	return &failure.Error{
		Status: http.StatusUnprocessableEntity,
		Code:   "RESTORE_REFUSED",
		Message: fmt.Sprintf("The file %s is not %s: it has %s%s",
			r.file, r.options.done(), cli.Many(len(r.verdict.Faults), "fault"), unjudged(r.verdict)),
		Why:     strings.TrimRight(why.String(), "\n"),
		Next:    next,
		Details: map[string]any{"faults": r.verdict.Faults, "head": r.verdict.Head},
	}
}

// command returns the command line of this restore, with an additional flag.
func (r *restoring) command(flag string) string {
	line := "maestro " + r.options.verb() + " " + safetext.Quoted(r.file)
	if r.options.home != r.options.ownHome {
		line += " --home " + safetext.Quoted(r.options.home)
	}
	return line + " " + flag
}

// startCommand returns the command that serves a home.
func startCommand(dir, own string) string {
	if dir == own {
		return "maestro serve"
	}
	return "MAESTRO_HOME=" + safetext.Quoted(dir) + " maestro serve"
}

// rulesOf returns the rules that the faults break, each once.
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
		Status:  http.StatusConflict,
		Code:    "HEAD_DIFFERS",
		Why:     why,
		Message: "The file " + file + " does not contain this head",
		Next:    "use another file; without --head, the log is not compared with a head that you kept",
	}
}

// say reports what was restored, and what could not be checked.
func (r *restoring) say(result restored) {
	a := r.Run
	r.sayRestored(result)
	switch {
	case r.isExport && r.ended:
		a.Print("An export has no signature: compare with --head if you kept one\n")
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
	r.sayStart(result)
}

func (r *restoring) sayRestored(result restored) {
	r.Run.Print(
		"%s %s into %s, head %s\n", strings.ToUpper(r.options.done()[:1])+r.options.done()[1:],
		cli.Many(int(result.Head.Sequence), "event"), result.Home, result.Head,
	)
	for _, fault := range result.Faults {
		r.Run.Print("Accepted fault: %s\n", faultLine(fault))
	}
}

func (r *restoring) sayStart(result restored) {
	if r.own == "" {
		r.Run.Print("The home gets a new token and a new key: the secrets of its sessions are no longer valid\n")
	}
	r.Run.Print("Start it with `%s`\n", startCommand(result.Home, r.options.ownHome))
}
