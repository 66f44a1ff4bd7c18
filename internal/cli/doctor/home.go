package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"maestro/bus"
	"maestro/internal/cli"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/internal/salvage"
	"maestro/internal/server/guard"
	"maestro/service/wire"
)

// lookAtHome checks the owner, the modes, the kinds and the version of the home's files.
func lookAtHome(_ context.Context, x *examination) (found []Finding) {
	switch {
	case x.session, x.noHome() && (x.server != nil || x.Getenv(wire.EnvAPIURL) != ""):
		// a server elsewhere needs no home here
		return nil
	case x.noHome():
		return []Finding{homeMissing.found("There is no home at "+x.dir,
			"a server keeps its log and its secrets in its home",
			"run `maestro serve`, which creates it, or name another home with MAESTRO_HOME")}
	case x.opened != nil:
		return []Finding{unusable(x.opened)}
	}
	for _, look := range []func() error{
		x.home.CheckKinds, x.home.CheckStorePlace,
		func() error { _, err := x.home.AdminToken(); return gone(err) },
		func() error { return gone(x.home.CheckKey()) },
	} {
		if err := look(); err != nil {
			found = append(found, unusable(err))
		}
	}
	var newer *home.NewerError
	if err := x.home.Check(guard.Known(cli.Version())); errors.As(err, &newer) {
		found = append(found, homeNewer.found(newer.Error(), "this version would not understand what is in it",
			"install "+newer.Needs()+", or read it with `maestro serve --read-only`"))
	} else if err != nil {
		found = append(found, unusable(err))
	}
	if err := files.Writable(x.dir); err != nil {
		what, why, next := cli.Explain(err)
		if next == "" {
			next = "make its disk writable, or read it with `maestro serve --read-only`"
		}
		found = append(found, homeReadOnly.found("The home "+x.dir+" cannot be written to: "+what, why, next))
	}
	if free, known := bus.FreeBytes(x.home.Store()); known && x.figures == nil {
		found = append(found, ofRoom(free, "The disk of the home "+x.dir)...)
	}
	return found
}

// gone ignores that a file does not exist: a server creates it.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// unusable is the finding about an error of the home.
func unusable(err error) Finding {
	var key *home.KeyError
	if errors.As(err, &key) {
		return keyMissing.found(key.Error(),
			"the server does not start: the secrets of sessions and tokens need the key", key.Next())
	}
	what, why, next := cli.Explain(err)
	if why == "" {
		why = "a server does not start on such a home, or is open to other users"
	}
	if next == "" {
		next = "correct that file, or move it away and start the server again"
	}
	return homeUnusable.found(what, why, next)
}

// lookAtConfig checks config.json.
func lookAtConfig(_ context.Context, x *examination) []Finding {
	if x.home == nil {
		return nil
	}
	err := cli.CheckConfig(x.Getenv)
	if err == nil {
		return nil
	}
	what, why, next := cli.Explain(err)
	if next == "" {
		next = "correct the file, or delete it"
	}
	if why == "" {
		why = "lists, and commands in the current project, fail until it is correct"
	}
	return []Finding{configInvalid.found(what, why, next)}
}

// lookAtStore checks a store that no server holds.
func lookAtStore(_ context.Context, x *examination) []Finding {
	if x.home == nil || x.runs || !home.HasLog(x.dir) {
		return nil
	}
	if bus.StoppedCleanly(x.home.Store()) {
		return nil
	}
	return []Finding{storeUnclean.found("The last server of the home "+x.dir+" did not stop cleanly",
		"the next start checks what was written last, which takes longer",
		"run `maestro serve`, which checks the store and says if anything is lost, then `maestro audit verify`")}
}

// lookAtHead compares the log's head with what the head file saw.
func lookAtHead(ctx context.Context, x *examination) []Finding {
	if x.home == nil {
		return nil
	}
	seen, err := bus.LoadHeadFile(x.home.Head())
	if err != nil {
		what, why, _ := cli.Explain(err)
		return []Finding{headBroken.found(what,
			"it witnesses where the log ended: without it, a cut log is not noticed; "+why,
			"run `maestro audit verify --from-head SEQ:HASH` with a head that you kept, then delete the file")}
	}
	if !x.own || seen.Sequence == 0 || !x.may("the head of the log") {
		return nil
	}
	head, err := x.server.Head(ctx)
	switch {
	case err != nil:
		return x.silent(err)
	case seen.Sequence > head.Sequence:
		return []Finding{headAhead.found(
			fmt.Sprintf("The log ends at event %d, and the head file saw event %d", head.Sequence, seen.Sequence),
			"acknowledged events are missing", "stop the server, and run `maestro salvage --new-home NEWHOME`")}
	case seen.Sequence == head.Sequence && seen.Hash.String() != head.Hash.String():
		return []Finding{headAhead.found(fmt.Sprintf("The head file saw another event %d", seen.Sequence),
			"the log, or the head file, was replaced", "run `maestro audit verify`, and follow what it says")}
	}
	return nil
}

// lookAtLeftovers looks for what a crash left.
func lookAtLeftovers(_ context.Context, x *examination) (found []Finding) {
	if x.home == nil {
		return nil
	}
	restored, _ := bus.Unbuilt(x.home.Store()) // what cannot be listed is unknown
	for _, dir := range restored {
		found = append(found, leftovers.found("A killed restore left "+dir,
			"it holds a part of the log, and takes room",
			"if the home lacks the log, run `maestro restore` again, which removes it; else "+
				safetext.Line("rm", "-r", dir)))
	}
	salvaged, _ := salvage.Leftovers(x.dir)
	for _, dir := range salvaged {
		found = append(found, leftovers.found("A killed salvage left "+dir, "it holds secrets, and takes room",
			"run the same `maestro salvage` again, which removes it; else "+
				safetext.Line("rm", "-r", dir)))
	}
	texts, _ := bus.TextCopies(x.home.Store())
	entries, _ := disk.ReadDir(x.dir)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "store.damaged-") {
			continue
		}
		path := filepath.Join(x.dir, entry.Name())
		why := "it is for you; only copies that end in the name of a stream are read by the server"
		if slices.Contains(texts, path) {
			why += "; it holds long texts, also those that were redacted since"
		}
		found = append(found, damagedCopies.found("There is a copy of the damaged store: "+path, why,
			"delete it when you have salvaged or restored: "+safetext.Line("rm", "-r", path)))
	}
	return found
}

// backupAge is how old the newest backup may be: one is due each day, and only if the log has changed.
const backupAge = 48 * time.Hour
