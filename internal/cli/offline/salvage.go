package offline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/export"
	"maestro/bus"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/salvage"
	"maestro/internal/server/guard"
)

type salvageOptions struct {
	home, to, backupDir, signer string
	with                        []string
	acceptFaults                bool
}

// salvaging is `maestro salvage`.
type salvaging struct {
	*cli.Run
	o salvageOptions
}

// NewSalvage returns `maestro salvage`.
func NewSalvage(a *cli.Run) *cobra.Command {
	c := &salvaging{Run: a}
	cmd := &cobra.Command{
		Use:   "salvage [<home>]",
		Short: "Make a new home from a damaged one, with everything that can be read",
		Args:  cli.Takes,
		Long: `Make a new home from a damaged one. Stop the server first. The command only
reads the damaged home.

It builds the new log event by event, from the damaged store or, where that
lacks one, from backups and exports: those named by --with, and the home's
automatic backups. The hash chain proves which event belongs where. Of several
chains it takes the one that the head file, the rest of the store, a snapshot or
the home's key proves, whatever the order of --with; the others' events go into
salvaged-others.ndjson in the new home. So do events that only an export, or a
backup that another key signed, has, if they break a rule or contradict what the
home remembers: --accept-faults takes them.

The new log ends where no source has the next event; what can be read after that
gap goes into salvaged-events.ndjson in the new home. Secrets and kept reports
are copied, so running sessions keep their tokens. salvage.json in the new home
says what was recovered and what is missing.

Exit code 0: everything that was acknowledged is in the new home. 8: the new
home was created, but something is missing and listed, or it is not known where
the log ended, or only a newer version of maestro, which is named, can serve or
salvage it. With any other exit code no home was created. 1: it failed, for
example because the disk is full. 6: --new-home is not empty, or is inside the
damaged home, or another salvage is writing to it.`,
		RunE: cli.Running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.o.home, "home", "", "the damaged home; else MAESTRO_HOME, else ~/.maestro")
	f.StringVar(&c.o.to, "new-home", "", "the new home, which must not exist or be empty")
	f.StringArrayVar(&c.o.with, "with", nil, "a backup or an export to fill gaps from; may be repeated")
	f.BoolVar(&c.o.acceptFaults, "accept-faults", false,
		"take from the files of --with also what breaks a rule or contradicts what the home remembers")
	f.StringVar(&c.o.signer, "signer", "",
		"where server.key is lost: who signed the home's automatic backups, as 'maestro backup' showed it")
	f.StringVar(&c.o.backupDir, "backup-dir", "", "where the automatic backups are; else the home's name and -backups")
	return cmd
}

func (c *salvaging) run(ctx context.Context, args []string) error {
	if err := c.NoHomeBySession("salvages no home"); err != nil {
		return err
	}
	if dir := cli.At(args, 0); dir != "" {
		if c.o.home != "" {
			return failure.Usage("the home is named twice: %s and %s", dir, c.o.home)
		}
		c.o.home = dir
	}
	return salvageHome(ctx, c.Run, c.o)
}

func salvageHome(ctx context.Context, a *cli.Run, o salvageOptions) error {
	if o.to == "" {
		return failure.Usage("--new-home is missing").WithNext("name the new home: maestro salvage --new-home NEWHOME")
	}
	if o.home == "" {
		var err error
		if o.home, err = home.Path(a.Getenv); err != nil {
			return err
		}
	}
	damaged, err := home.Open(o.home)
	if errors.Is(err, fs.ErrNotExist) {
		return &failure.Error{
			Code:    failure.NotFound,
			Message: "There is no home " + o.home,
			Next:    "name it with --home",
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = damaged.Close() }()
	reading, err := damaged.LockForReading()
	var held *home.HeldError
	switch { // anything but a lock file in its place means that nobody holds the lock
	case err == nil:
		defer func() { _ = reading.Release() }()
	case errors.As(err, &held):
		return &failure.Error{
			Code:    failure.Conflict,
			Message: "A server holds the home " + o.home,
			Why:     "what is being written cannot be salvaged",
			Next:    "stop the server first",
		}
	}
	for _, file := range o.with {
		if err := cli.CheckNamed(file); err != nil {
			return err
		}
		if err := checkSource(a, file); err != nil {
			return err
		}
	}
	if o.backupDir != "" {
		if err := isDirectory(o.backupDir, "--backup-dir"); err != nil {
			return err
		}
	}
	options := salvage.Options{
		Home:         damaged,
		To:           o.to,
		With:         o.with,
		AcceptFaults: o.acceptFaults,
		Known:        guard.Known(cli.Version()),
		Now:          time.Now(),
	}
	if options.Signer, err = signerOf(damaged, o.signer); err != nil {
		return err
	}
	dir := backups.At(damaged.Dir(), o.backupDir, options.Signer)
	options.BackupDir = dir.Path()
	options.Backups, options.Unlisted = dir.Files()
	options.Others = dir.Others()
	if free, known := bus.FreeBytes(files.Existing(o.to)); known && free < bus.Reserve {
		return noRoom(o.to)
	}
	report, err := salvage.Home(ctx, options)
	switch {
	case errors.Is(err, salvage.ErrRunning):
		return &failure.Error{
			Code:    failure.Conflict,
			Message: "Nothing was salvaged",
			Why:     err.Error(),
			Next:    "wait until that salvage ends, and read its report; or choose another directory with --new-home",
		}
	case errors.Is(err, salvage.ErrTarget):
		return &failure.Error{
			Code:    failure.Conflict,
			Message: "Nothing was salvaged",
			Why:     err.Error(),
			Next:    "choose another directory with --new-home",
		}
	case errors.Is(err, salvage.ErrNoFile):
		return &failure.Error{
			Code:    failure.NotFound,
			Message: "Nothing was salvaged",
			Why:     err.Error(),
			Next:    "correct --with, or leave it out",
		}
	case err != nil:
		return notSalvaged(options.To, err)
	}
	if !report.Whole() {
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Partial: true,
			Code:    codeOf(report),
			Message: fmt.Sprintf("Salvaged %s into %s, head %s; %s",
				cli.Many(int(report.Head.Sequence), "event"), report.To, report.Head, lacking(report)),
			Why:     strings.Join(slices.Concat([]string{report.Lost()}, report.Notes, unused(report)), "\n"),
			Next:    nextAfter(report),
			Details: map[string]any{"report": report},
		}
	}
	a.Result(report, func() { showSalvage(a, report) })
	return nil
}

// signerOf returns the key that signed a home's backups: the home's own or, if that is lost, the one that the user
// named. It is "" if there is neither. Another home's key in the place of the home's does not count.
func signerOf(damaged *home.Home, named string) (string, error) {
	if named != "" {
		if _, err := bus.ParseSigner(named); err != nil {
			return "", failure.Usage("--signer: %s", err)
		}
	}
	key, err := damaged.BackupSigner()
	var foreign *home.KeyError
	// the other key says nothing about this home's backups
	if errors.As(damaged.CheckKey(), &foreign) && foreign.Another {
		return named, nil
	}
	if err != nil { // the key is lost
		return named, nil //nolint:nilerr // the report says which backups were not used
	}
	own := bus.SignerName(key)
	if named != "" && named != own {
		return "", failure.Usage("--signer is %s, and the home's key is %s", named, own).
			WithNext("leave --signer out; name a backup that another key signed with --with")
	}
	return own, nil
}

// checkSource refuses a file that is neither a backup nor an export, before anything is created.
func checkSource(a *cli.Run, file string) error {
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return err
	}
	defer done()
	reader := bufio.NewReader(in)
	exported, err := isExport(file, reader)
	if err != nil {
		return err
	}
	enough := errors.New("it begins as it must")
	first := func(events.Message) error { return enough }
	if exported {
		err = export.Read(reader, first)
	} else {
		_, err = bus.ReadBackup(reader, bus.BackupVisitor{Message: first})
	}
	var backup *bus.BackupError
	if errors.Is(err, enough) || errors.As(err, &backup) && !backup.Foreign { // a damaged one may have long texts
		return nil
	}
	return notWhole(file, err)
}

// isDirectory refuses a flag's value that does not exist, or is not a directory.
func isDirectory(path, flag string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &failure.Error{
			Code:    failure.NotFound,
			Message: "There is no directory " + path,
			Err:     err,
			Why:     flag + " names it",
			Next:    "correct " + flag + ", or leave it out",
		}
	case err != nil:
		return cli.Unreadable(path, err)
	case !info.IsDir():
		return failure.Usage("%s is not a directory", path).WithWhy("%s names it", flag).
			WithNext("correct %s, or leave it out", flag)
	}
	return nil
}

// notSalvaged returns the error that no new home could be created.
func notSalvaged(to string, err error) error {
	path, absErr := filepath.Abs(to)
	if absErr != nil {
		path = to
	}
	switch {
	case bus.IsFull(err):
		return noRoom(path)
	case guard.IsReadOnly(err):
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "READ_ONLY_DISK",
			Message: "The new home " + path + " cannot be made",
			Why:     "its disk is mounted read-only",
			Next:    "name a directory on another disk with --new-home",
			Err:     err,
		}
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "SALVAGE_FAILED",
		Err:     err,
		Message: "The home could not be salvaged; nothing was created",
		Next:    "fix the cause, and run it again; --new-home names another place for the new home",
	}
}

func noRoom(to string) error {
	path, err := filepath.Abs(to)
	if err != nil {
		path = to
	}
	f := &failure.Error{
		Status:  http.StatusInsufficientStorage,
		Code:    "DISK_FULL",
		Message: "There is no room for the new home " + path,
		Next:    "make room, or name a directory on another disk with --new-home; nothing was left behind",
	}
	if free, known := bus.FreeBytes(files.Existing(path)); known {
		f.Why = fmt.Sprintf("%d KiB are free on its disk, and %d are needed", free>>10, bus.Reserve>>10)
		if free >= bus.Reserve {
			f.Why = fmt.Sprintf("%d KiB are free on its disk, and the home needs more", free>>10)
		}
	}
	return f
}

// nextAfter advises how to recover more of what is lost, and how to continue without it.
func nextAfter(report *salvage.Report) string {
	if report.Newer != "" {
		return report.Install
	}
	next := "name further backups or exports with --with and another --new-home; or go on with MAESTRO_HOME=" +
		report.To
	if report.Key != "" {
		next += ": put the right server.key there, or start it once with `maestro serve --new-key`"
	}
	return next
}

// unused returns a line for each backup or export that could not be used.
func unused(report *salvage.Report) (lines []string) {
	for _, from := range slices.Sorted(maps.Keys(report.Unused)) {
		lines = append(lines, "not used: "+from+": "+report.Unused[from])
	}
	return lines
}

// lacking says briefly why a report is not complete.
func lacking(report *salvage.Report) string {
	if onlyNewer(report) {
		return "a newer maestro wrote that home"
	}
	known := *report
	known.Newer = ""
	known.EndUnknown = false
	if known.Whole() {
		return "it is not known whether this is everything that was acknowledged"
	}
	return "not everything is there"
}

// onlyNewer reports whether the only thing that a report lacks is a maestro that can serve the new home.
func onlyNewer(report *salvage.Report) bool {
	known := *report
	known.Newer = ""
	return report.Newer != "" && known.Whole()
}

func codeOf(report *salvage.Report) string {
	if onlyNewer(report) {
		return "NEWER_HOME"
	}
	return "SALVAGE_PARTIAL"
}

func showSalvage(a *cli.Run, report *salvage.Report) {
	a.Print("Salvaged %s into %s, head %s: everything that was acknowledged is there\n",
		cli.Many(int(report.Head.Sequence), "event"), report.To, report.Head)
	a.Field("Texts", cli.Many(report.Texts, "long text"))
	a.Field("Refusals", cli.Many(report.Refusals, "recorded refusal"))
	damage := cli.Many(len(report.Damage), "damaged place")
	if report.UnreadTexts > 0 {
		damage += " and " + cli.Many(report.UnreadTexts, "unreadable long text")
	}
	a.Field("Damage", damage+" in the old store")
	for _, from := range slices.Sorted(maps.Keys(report.Filled)) {
		a.Field(
			"Filled",
			cli.Many(int(report.Filled[from]), "event")+" from "+from, //nolint:gosec // as many as there are events
		)
	}
	for _, from := range slices.Sorted(maps.Keys(report.FilledTexts)) {
		a.Field("Filled", cli.Many(report.FilledTexts[from], "long text")+" from "+from)
	}
	for _, line := range unused(report) {
		a.Field("Unused", strings.TrimPrefix(line, "not used: "))
	}
	for _, note := range report.Notes {
		a.Field("Note", note)
	}
	a.Print("Start the server with MAESTRO_HOME=%s\n", report.To)
}
