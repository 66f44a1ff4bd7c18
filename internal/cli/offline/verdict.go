package offline

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/home"
)

// fileVerdict is the verdict on a server's log, or on a file and, for a backup, its signer.
type fileVerdict struct {
	export.Verdict

	// Signer is "" if a backup has no signature, nil for anything but a backup.
	Signer *string `json:"signer,omitempty"`
	// SignedBy says whose key that is; "" for anything but a backup.
	SignedBy signedBy `json:"signedBy,omitempty"`
}

// signedBy says whose key signed a backup.
type signedBy string

// whoSigned compares a backup's signer with the named one, and with the home's own key.
func whoSigned(a *cli.Run, signer, named string) signedBy {
	switch {
	case signer == "":
		return signedByNobody
	case signer == named:
		return signedByNamed
	case signer == ownSigner(a):
		return signedByHome
	}
	return signedByUnknown
}

// ownSigner returns the key of the home, "" if there is no home or it has no key.
func ownSigner(a *cli.Run) string {
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

// showSigner shows who signed a backup, and what that proves.
func showSigner(a *cli.Run, signer string, by signedBy) {
	switch by {
	case signedByNobody:
		a.Field("Signer", "nobody: the backup has no signature, so nothing shows who made it")
	case signedByNamed:
		a.Field("Signer", signer+", as --signer says")
	case signedByHome:
		a.Field("Signer", signer+", the key of this home")
	case signedByUnknown:
		a.Field("Signer", signer+", a key that this home does not know: anybody can make one. "+
			"Compare it with the signer that you kept, and add --signer")
	}
}

func verifyFile(a *cli.Run, file string, from *events.Head, signer string) (fileVerdict, error) {
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return fileVerdict{}, err
	}
	defer done()
	log := bufio.NewReader(in)
	exported, err := isExport(file, log)
	switch {
	case err != nil:
		return fileVerdict{}, err
	case exported && signer != "":
		return fileVerdict{}, exportIsUnsigned()
	case exported:
		verdict, err := export.VerifyExport(log, from)
		return fileVerdict{Verdict: verdict}, err
	}
	verdict, err := verifyBackup(log, from, signer)
	if err == nil {
		verdict.SignedBy = whoSigned(a, *verdict.Signer, signer)
	}
	return verdict, notVerified(file, err)
}

// notVerified explains what is wrong with a backup. A damaged one has failed its audit, as has an export with an
// unreadable line; a file that is not a backup was named by mistake.
func notVerified(file string, err error) error {
	var backup *bus.BackupError
	var own *failure.Error
	err = notWhole(file, err)
	if errors.As(err, &own) && errors.As(err, &backup) && !backup.Foreign &&
		!errors.Is(err, bus.ErrNewerBackup) {
		own.Status, own.Code = 0, failure.AuditFailed
	}
	return err
}

// exportIsUnsigned refuses --signer for an export.
func exportIsUnsigned() error {
	return failure.Usage("--signer is about a backup, and the file is an export").
		WithWhy("an export has no signature").
		WithNext("leave --signer out and compare with a head that you kept, or name a backup")
}

// checkSigner refuses an invalid --signer.
func checkSigner(signer string) error {
	if signer == "" {
		return nil
	}
	if _, err := bus.ParseSigner(signer); err != nil {
		return failure.Usage("--signer: %s", err)
	}
	return nil
}

// verifyBackup verifies a backup: its log, the long texts in it, and its signature by the signer, or by anybody if none
// is named.
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
	engine.AdviseForFile(verdict.Faults)
	return fileVerdict{Verdict: export.Verdict{Verdict: verdict}, Signer: &contents.Signer}, err
}

// judgeSignature records as a fault what is wrong with a backup's signature. If a signer is expected, such as "this
// home", a backup without a signature is at fault too: removing the signature also means changing the format to 1.
func judgeSignature(verifier *engine.Verifier, contents bus.BackupContents, signer, expects string) {
	at := contents.Head.Sequence
	switch {
	case contents.Unsealed != nil && missingTexts(contents) == nil: // loseTexts reports what is missing
		verifier.Fault(at, engine.FaultSignature, "%s", contents.Unsealed)
	case signer == "" || contents.Signer == signer:
	case contents.Signer == "":
		verifier.Fault(at, engine.FaultSignature, "the backup has no signature; %s expects %s", expects, signer)
	default:
		verifier.Fault(at, engine.FaultSignature, "signed by %s; %s expects %s", contents.Signer, expects, signer)
	}
}

// faultLine describes a fault in a line. A signature is about a whole file, other faults are about an event.
func faultLine(fault engine.Fault) string {
	if fault.Rule == engine.FaultSignature {
		return fmt.Sprintf("signature: %s", fault.What)
	}
	return fmt.Sprintf("event %d: %s: %s", fault.Sequence, fault.Rule, fault.What)
}

// missingTexts returns the digests that a backup's signature covers and the backup lacks.
func missingTexts(contents bus.BackupContents) []string {
	var missing *bus.MissingTextsError
	if errors.As(contents.Unsealed, &missing) {
		return missing.Digests
	}
	return nil
}

// loseTexts records as faults the texts that the events name, or a backup's signature covers, and that no file
// supplied.
func loseTexts(verifier *engine.Verifier, kept map[string]bool, contents bus.BackupContents) {
	why := map[string]string{}
	for _, l := range contents.Lost {
		why[l.Digest] = l.Why
	}
	verifier.LoseTexts(kept, why, "the file does not hold it")
	for _, digest := range missingTexts(contents) {
		if !kept[digest] && !verifier.NamesText(digest) {
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

// redactionsNamed is how many redactions are named.
const redactionsNamed = 10

// eventsNamed names events by their sequences, of many only the first.
func eventsNamed(sequences []uint64, all int) string {
	var names []string
	for _, sequence := range sequences[:min(len(sequences), redactionsNamed)] {
		names = append(names, strconv.FormatUint(sequence, 10))
	}
	if more := all - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	if len(names) == 1 {
		return "event " + names[0]
	}
	return "events " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// showVerdict shows what an audit found in a file, or in the server's log if file is "". compared says that it was
// compared with a head that was kept.
func showVerdict(a *cli.Run, v fileVerdict, file string, compared bool) error {
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
			Code: failure.AuditFailed,
			Message: fmt.Sprintf("%s in %s%s", cli.Many(len(v.Faults)+v.FaultsMore, "fault"),
				cli.Many(int(v.Events), "event"), unjudged(v.Verdict.Verdict)),
			Why:     strings.TrimRight(why.String(), "\n"),
			Next:    strings.Join(next, "\n"),
			Details: map[string]any{"verdict": v},
		}
	}
	a.Result(v, func() {
		switch {
		case v.Events == 0:
			a.Print("The log is empty: there is nothing to check\n")
		case v.Decided < v.Events:
			a.Print(
				"The chain is intact: %s, %s made again with the same result, the others not judged\n",
				cli.Many(int(v.Events), "event"),
				cli.Many(int(v.Decided), "decision"),
			)
		default:
			a.Print(
				"Good: %s, the chain is intact, %s made again with the same result\n",
				cli.Many(int(v.Events), "event"),
				cli.Many(int(v.Decided), "decision"),
			)
		}
		a.Field("Head", v.Head.String())
		if v.Signer != nil {
			showSigner(a, *v.Signer, v.SignedBy)
		}
		if v.Witnesses > 0 {
			a.Field(
				"Witnesses",
				cli.Many(v.Witnesses, "head")+" remembered outside the log, all in the log",
			)
		}
		switch {
		case v.Redacted > 0:
			a.Field("Texts", fmt.Sprintf("%s that the log names: %d redacted, as an event says that is not here, "+
				"the others all there and unchanged", cli.Many(v.Texts, "long text"), v.Redacted))
		case v.Texts > 0 && v.TextsChecked:
			a.Field("Texts", cli.Many(v.Texts, "long text")+" that the log names, all there and unchanged")
		case v.Texts > 0:
			a.Field(
				"Texts",
				cli.Many(v.Texts, "long text")+" that the log names, which this export does not hold (see "+
					"`maestro audit export --texts`): not checked",
			)
		}
		if n := len(v.Redactions) + v.RedactionsMore; n > 0 {
			a.Field("Redacted",
				cli.Many(n, "long text")+", which nobody can read any more, by "+eventsNamed(v.Redactions, n))
		}
		if !v.Views.IsZero() {
			a.Field("Views", v.Views.String())
		}
		if v.Withheld > 0 {
			a.Field(
				"Withheld",
				cli.Many(
					int(v.Withheld),
					"event",
				)+" without bodies: their chain was checked, decisions from there on were not",
			)
		}
		switch {
		case file == "" || v.Signer != nil || compared:
		case v.Ended:
			a.Field("End", "as the last line says: the file was not cut off by accident; "+
				"with --from-head and a head that you kept, you see whether somebody cut it")
		default:
			a.Field("End", "not checked, because the last line, which says where the log ended, is missing, as in an "+
				"export of an earlier version: with --from-head and a head that you kept, you see whether it was cut")
		}
		if v.Unauthenticated > 0 {
			a.Field("Unproved", cli.Many(int(v.Unauthenticated), "event")+" came without a credential (--auth off)")
		}
	})
	return nil
}

// NewAudit returns the noun audit, with the verbs that read files.
func NewAudit(a *cli.Run) *cobra.Command {
	return cli.NewAudit(a, newAuditVerify(a), newAuditReplay(a), newAuditDiff(a))
}

// auditVerify is `maestro audit verify`.
type auditVerify struct {
	*cli.Run
	witness, signer string
	byOracle        bool
}

func newAuditVerify(a *cli.Run) *cobra.Command {
	c := &auditVerify{Run: a}
	cmd := &cobra.Command{
		Use:   "verify [<file>]",
		Short: "Verify the log, an export or a backup: its chain, its long texts and every decision",
		Args:  cli.Takes,
		RunE:  cli.Running(c.run),
	}
	cmd.Flags().BoolVar(&c.byOracle, "oracle", false,
		"judge by the documents alone, with code that is independent of the server's")
	cmd.Flags().StringVar(&c.signer, "signer", "", "who must have signed the backup, as 'maestro backup' prints it")
	cmd.Flags().StringVar(&c.witness, "from-head", "",
		"a head that was kept elsewhere: the log must pass through it")
	cli.ValueName(cmd, "from-head", "<sequence:hash>")
	return cli.Tell(cmd, "audit:verify", "from-head", "oracle")
}

func (c *auditVerify) run(ctx context.Context, args []string) error {
	from, err := parseHead(c.witness, "--from-head")
	if err != nil {
		return err
	}
	file := cli.At(args, 0)
	switch {
	case c.byOracle && (c.witness != "" || c.signer != ""):
		return failure.Usage("--oracle judges by the documents alone and takes neither --from-head nor --signer")
	case c.byOracle:
		return judgeLog(ctx, c.Run, file)
	case c.signer != "" && file == "":
		return failure.Usage("--signer is about a backup, and no file is named")
	}
	if err := checkSigner(c.signer); err != nil {
		return err
	}
	var verdict fileVerdict
	if file != "" {
		verdict, err = verifyFile(c.Run, file, from, c.signer)
	} else {
		verdict.Verdict.Verdict, err = cli.Ask(ctx, c.Run, (*client.Client).Verify, c.witness)
	}
	if err != nil {
		return err
	}
	return showVerdict(c.Run, verdict, file, from != nil)
}

// parseHead parses the value of a flag; nil for "".
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
	return nil, failure.Usage("%s must be SEQUENCE:HASH, as `maestro audit head` prints it", flag).
		WithWhy("a sequence is a number, and a hash 64 hexadecimal digits")
}

const (
	signedByNobody signedBy = "nobody"
	// signedByNamed: --signer named it.
	signedByNamed   signedBy = "named"
	signedByHome    signedBy = "this-home"
	signedByUnknown signedBy = "unknown"
)
