package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/safetext"
)

func (a *Run) auditCommand() *cobra.Command {
	return group(
		"audit", "The log: what was said and decided, and whether it is what it was", a.auditHead(), a.auditExport(),
		a.auditVerify(), a.auditReplay(), a.auditDenials(), a.auditLimits(), a.auditCan(),
	)
}

func (a *Run) auditHead() *cobra.Command {
	return &cobra.Command{
		Use: "head", Short: "Show the log's head, to be kept elsewhere as a witness", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			head, err := look(ctx, a, (*client.Client).Head)
			if err != nil {
				return err
			}
			a.Result(head, func() { a.Print("%s\n", head) })
			return nil
		}),
	}
}

func (a *Run) auditExport() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write the log without its long texts, one line an event; of one project, the bodies of others stay out", Args: Takes("[FILE]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			log, done, err := a.exported(ctx, project, 0)
			if err != nil {
				return err
			}
			defer done()
			file := at(args, 0)
			if file == "" || file == "-" {
				return a.showExport(log)
			}
			size, err := writeNew(ctx, file, log)
			if err != nil {
				return err
			}
			a.wroteFile(file, size)
			return nil
		}),
	}
	cmd.Flags().StringVar(&project, "project", "", "only this project's events; the chain still verifies")
	return cmd
}

// showExport writes an export to stdout: exactly, or to a terminal with escapes for what would act on it. An escape in
// JSON is the same value.
func (a *Run) showExport(log io.Reader) error {
	if !a.terminal() {
		if _, err := io.Copy(a.Stdout, log); err != nil {
			return cutShort(err)
		}
		return nil
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		a.write(safetext.EscapeJSON(line))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return cutShort(err)
		case a.broken != nil:
			return nil
		}
	}
}

// exported reads the log from the server: to an event, or with 0 the whole log, which the server of a damaged one
// refuses.
func (a *Run) exported(ctx context.Context, project string, to uint64) (log io.Reader, done func(), err error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	stream, err := c.Export(ctx, project, to)
	if err != nil {
		return nil, nil, err
	}
	return stream, func() { _ = stream.Close() }, nil
}

func cutShort(err error) error {
	return &failure.Error{
		Status: http.StatusInternalServerError, Code: "CUT", Message: "What the server sent is cut short", Err: err,
		Next: "try again; the server's log says why",
	}
}

func (a *Run) wroteFile(file string, size int64) {
	data := struct {
		File  string `json:"file"`
		Bytes int64  `json:"bytes"`
	}{file, size}
	a.Result(data, func() { a.Print("Wrote %s, %d bytes\n", file, size) })
}

func (a *Run) auditVerify() *cobra.Command {
	var witness, signer string
	var byOracle bool
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Check the chain and the long texts, and decide every event again: of the server's log, an export or a backup", Args: Takes("[FILE]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			from, err := parseHead(witness, "--from-head")
			if err != nil {
				return err
			}
			file := at(args, 0)
			switch {
			case byOracle && (witness != "" || signer != ""):
				return failure.Usage("--oracle judges by the documents alone and takes neither --from-head nor --signer")
			case byOracle:
				return a.judge(ctx, file)
			case signer != "" && file == "":
				return failure.Usage("--signer is about a backup, and no file is named")
			}
			if err := checkSigner(signer); err != nil {
				return err
			}
			var verdict fileVerdict
			if file != "" {
				verdict, err = a.verifyFile(file, from, signer)
			} else {
				verdict.Verdict, err = ask(ctx, a, (*client.Client).Verify, witness)
			}
			if err != nil {
				return err
			}
			return a.showVerdict(verdict, file)
		}),
	}
	cmd.Flags().BoolVar(&byOracle, "oracle", false, "judge by the documents alone, with code that shares nothing with what decides")
	cmd.Flags().StringVar(&signer, "signer", "", "who must have signed the backup, as 'maestro backup' prints it")
	cmd.Flags().StringVar(&witness, "from-head", "", "SEQUENCE:HASH, a head that was kept elsewhere: the log must pass through it")
	return cmd
}

// parseHead reads what a flag says; nil for "".
func parseHead(text, flag string) (*events.Head, error) {
	if text == "" {
		return nil, nil
	}
	number, digits, _ := strings.Cut(text, ":")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err == nil {
		var hash events.Hash
		if hash, err = events.ParseHash(digits); err == nil {
			return &events.Head{Sequence: sequence, Hash: hash}, nil
		}
	}
	return nil, failure.Usage("%s must be SEQUENCE:HASH, as `maestro audit head` prints it", flag).WithWhy("%s", err)
}

// fileVerdict is about a server's log, or about a file and, of a backup, who signed it.
type fileVerdict struct {
	engine.Verdict
	// Signer is "" if a backup has no signature, nil for what is no backup.
	Signer *string `json:"signer,omitempty"`
	// SignedBy says whose key that is; "" for what is no backup.
	SignedBy signedBy `json:"signedBy,omitempty"`
}

// signedBy says whose key signed a backup.
type signedBy string

const (
	signedByNobody signedBy = "nobody"
	// signedByNamed: --signer named it.
	signedByNamed   signedBy = "named"
	signedByHome    signedBy = "this-home"
	signedByUnknown signedBy = "unknown"
)

// whoSigned compares a backup's signer with the one that was named, and with the home's own key.
func (a *Run) whoSigned(signer, named string) signedBy {
	switch {
	case signer == "":
		return signedByNobody
	case signer == named:
		return signedByNamed
	case signer == a.ownSigner():
		return signedByHome
	}
	return signedByUnknown
}

// ownSigner names the key of the home, "" if there is no home or it has no key.
func (a *Run) ownSigner() string {
	dir, err := home.Path(a.Getenv)
	if err != nil {
		return ""
	}
	h, err := home.Open(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = h.Close() }()
	key, err := h.BackupSigner()
	if err != nil {
		return ""
	}
	return bus.SignerName(key)
}

// showSigner says who signed a backup, and what that is worth.
func (a *Run) showSigner(signer string, by signedBy) {
	switch by {
	case signedByNobody:
		a.field("Signer", "nobody: the backup has no signature, so nothing shows who made it")
	case signedByNamed:
		a.field("Signer", signer+", as --signer says")
	case signedByHome:
		a.field("Signer", signer+", the key of this home")
	case signedByUnknown:
		a.field("Signer", signer+", a key that this home does not know: anybody can make one. "+
			"Compare it with the signer that you kept, and add --signer")
	}
}

func (a *Run) verifyFile(file string, from *events.Head, signer string) (fileVerdict, error) {
	in, done, err := a.open(file)
	if err != nil {
		return fileVerdict{}, err
	}
	defer done()
	log := bufio.NewReader(in)
	exported, err := isExport(log)
	switch {
	case err != nil:
		return fileVerdict{}, unreadable(file, err)
	case exported && signer != "":
		return fileVerdict{}, exportIsUnsigned()
	case exported:
		verdict, err := export.VerifyExport(log, from)
		return fileVerdict{Verdict: verdict}, err
	}
	verdict, err := verifyBackup(log, from, signer)
	if err == nil {
		verdict.SignedBy = a.whoSigned(*verdict.Signer, signer)
	}
	return verdict, notVerified(file, err)
}

// notVerified says what is wrong with a backup. One that is damaged has failed its audit, as an export has in which a
// line cannot be read; what is no backup was named by mistake.
func notVerified(file string, err error) error {
	var backup *bus.BackupError
	var own *failure.Error
	err = notWhole(file, err)
	if errors.As(err, &own) && errors.As(err, &backup) && !backup.Foreign {
		own.Status, own.Code = http.StatusInternalServerError, "AUDIT_FAILED"
	}
	return err
}

// exportIsUnsigned refuses --signer for an export.
func exportIsUnsigned() error {
	return failure.Usage("--signer is about a backup, and the file is an export").
		WithWhy("an export has no signature").
		WithNext("leave --signer out and compare with a head that you kept, or name a backup")
}

// checkSigner refuses a --signer that is none.
func checkSigner(signer string) error {
	if signer == "" {
		return nil
	}
	if _, err := bus.ParseSigner(signer); err != nil {
		return failure.Usage("--signer: %s", err)
	}
	return nil
}

// verifyBackup judges a backup: its log, the long texts in it, and its signature: the signer's, or whoever made it if
// none is named.
func verifyBackup(in io.Reader, from *events.Head, signer string) (fileVerdict, error) {
	verifier, kept := engine.NewVerifier(), map[string]bool{}
	if from != nil {
		verifier.Witness(engine.Witnessed{Head: *from, By: "your head", Brought: true})
	}
	contents, err := bus.ReadBackup(in, bus.BackupVisitor{
		Message: func(m events.Message) error {
			verifier.Event(m)
			return nil
		},
		Blob: func(digest string, _ []byte) error {
			kept[digest] = true
			return nil
		},
	})
	if err != nil {
		return fileVerdict{}, err
	}
	loseTexts(verifier, kept, contents)
	judgeSignature(verifier, contents, signer, "--signer")
	verdict, err := verifier.Verdict()
	verdict.TextsChecked = true
	for i, fault := range verdict.Faults {
		verdict.Faults[i].Next = fault.Rule.NextForFile()
	}
	return fileVerdict{Verdict: verdict, Signer: &contents.Signer}, err
}

// judgeSignature records as a fault what is wrong with a backup's signature. Who expects a signer, such as "this home",
// is not satisfied with a backup without a signature either: whoever removes one also changes the format to 1.
func judgeSignature(verifier *engine.Verifier, contents bus.BackupContents, signer, expects string) {
	at := contents.Head.Sequence
	switch {
	case contents.Unsealed != nil && missingTexts(contents) == nil: // what is missing, loseTexts tells
		verifier.Fault(at, engine.FaultSignature, "%s", contents.Unsealed)
	case signer == "" || contents.Signer == signer:
	case contents.Signer == "":
		verifier.Fault(at, engine.FaultSignature, "the backup has no signature; %s expects %s", expects, signer)
	default:
		verifier.Fault(at, engine.FaultSignature, "signed by %s; %s expects %s", contents.Signer, expects, signer)
	}
}

// faultLine shows a fault in a line. A signature is about a whole file, other faults are about an event.
func faultLine(fault engine.Fault) string {
	if fault.Rule == engine.FaultSignature {
		return fmt.Sprintf("signature: %s", fault.What)
	}
	return fmt.Sprintf("event %d: %s: %s", fault.Sequence, fault.Rule, fault.What)
}

// missingTexts gives the digests that a backup's signature covers and the backup lacks.
func missingTexts(contents bus.BackupContents) []string {
	var missing *bus.MissingTextsError
	if errors.As(contents.Unsealed, &missing) {
		return missing.Digests
	}
	return nil
}

// loseTexts records as faults what the events name, or a backup's signature covers, and nobody has brought.
func loseTexts(verifier *engine.Verifier, kept map[string]bool, contents bus.BackupContents) {
	why, told := map[string]string{}, map[string]bool{}
	for _, l := range contents.Lost {
		why[l.Digest] = l.Why
	}
	for _, named := range verifier.Texts() {
		if kept[named.Digest] {
			continue
		}
		text := engine.LostText{NamedText: named, Why: "the file does not hold it"}
		if said := why[named.Digest]; said != "" {
			text.Why = said
		}
		told[named.Digest] = true
		verifier.LoseText(text)
	}
	for _, digest := range missingTexts(contents) {
		if !kept[digest] && !told[digest] {
			verifier.Fault(contents.Head.Sequence, engine.FaultText,
				"%s, which the backup's signature covers and no event names, is lost: %s",
				digest, cmp.Or(why[digest], "the file does not hold it"))
		}
	}
}

// unjudged says which events an audit did not judge, because of a fault before them.
func unjudged(v engine.Verdict) string {
	switch v.FirstUnjudged {
	case 0:
		return ""
	case v.LastUnjudged:
		return fmt.Sprintf("; event %d was not judged", v.LastUnjudged)
	}
	return fmt.Sprintf("; events %d to %d were not judged", v.FirstUnjudged, v.LastUnjudged)
}

// showVerdict shows what an audit found in a file, or in the server's log if that is "".
func (a *Run) showVerdict(v fileVerdict, file string) error {
	if len(v.Faults) > 0 {
		var why strings.Builder
		var next []string
		for _, fault := range v.Faults {
			why.WriteString(faultLine(fault) + "\n")
			step := fault.Next
			if file != "" {
				step = strings.ReplaceAll(step, "FILE", file)
			}
			if !slices.Contains(next, step) {
				next = append(next, step)
			}
		}
		return &failure.Error{
			Status: http.StatusInternalServerError, Code: "AUDIT_FAILED",
			Message: fmt.Sprintf("%s in %s%s",
				Many(len(v.Faults)+v.FaultsMore, "fault"), Many(int(v.Events), "event"), unjudged(v.Verdict)),
			Why:     strings.TrimRight(why.String(), "\n"),
			Next:    strings.Join(next, "\n"),
			Details: map[string]any{"verdict": v},
		}
	}
	a.Result(v, func() {
		switch {
		case v.Events == 0:
			a.Print("Empty: there is nothing to judge\n")
		case v.Decided < v.Events:
			a.Print("The chain fits: %s, %d decisions made again with the same result, the others not judged\n", Many(int(v.Events), "event"), v.Decided)
		default:
			a.Print("Good: %s, the chain fits, %d decisions made again with the same result\n", Many(int(v.Events), "event"), v.Decided)
		}
		a.field("Head", v.Head.String())
		if v.Signer != nil {
			a.showSigner(*v.Signer, v.SignedBy)
		}
		if v.Witnesses > 0 {
			a.field("Witnesses", Many(v.Witnesses, "head")+" remembered outside the log, and the log has them all")
		}
		switch {
		case v.Texts > 0 && v.TextsChecked:
			a.field("Texts", Many(v.Texts, "long text")+" that the log names, all there and unchanged")
		case v.Texts > 0:
			a.field(
				"Texts", Many(v.Texts, "long text")+" that the log names, which an export does not hold: not checked",
			)
		}
		if !v.Views.IsZero() {
			a.field("Views", v.Views.String())
		}
		if v.Withheld > 0 {
			a.field("Withheld", Many(int(v.Withheld), "event")+" without bodies: their chain was checked, decisions from there on were not")
		}
		if v.Unauthenticated > 0 {
			a.field("Unproved", Many(int(v.Unauthenticated), "event")+" came without a credential (--auth off)")
		}
	})
	return nil
}
