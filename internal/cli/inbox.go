package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/outbox"
)

// inbox is `maestro inbox`.
type inbox struct {
	*Run
	cmd        *cobra.Command
	filter     wire.InboxFilter
	everywhere bool
	wait       bool
	timeout    time.Duration
}

func newInbox(a *Run) *cobra.Command {
	c := &inbox{Run: a}
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "Show everything that needs you, starting with what holds up a session",
		Args:  Takes,
		Long: `Show everything that needs you: first items that a working session waits for,
then items that hold up other work, then the rest. Within each group, tasks
with the highest priority come first, then the longest wait. Items that only
this machine knows about come last. With a current project, it shows that one,
and how much there is in the others; --all-projects shows them all.

With --wait, if nothing needs you, the command waits until something does, or
until --timeout (exit code 7). For a session, it also ends when there is mail,
which it shows. It also ends when the process that started it ends.

The guide's page "Leading a fleet" explains the kinds.`,
		RunE: Running(c.run),
	}
	c.cmd = cmd
	projectFlag(cmd, &c.filter.ProjectID)
	allProjectsFlag(cmd, &c.everywhere)
	cmd.Flags().BoolVar(&c.wait, "wait", false, "wait until something needs you")
	waitTimeout(cmd, &c.timeout)
	bindQuery(cmd, &c.filter, ownWord{"kind", string(inboxSetAside)})
	a.ListFlags(cmd)
	a.WatchFlag(cmd)
	a.AtFlag(cmd)
	Exclude(cmd, "wait", "watch")
	return Tell(cmd, "inbox", "wait timeout")
}

func (c *inbox) run(ctx context.Context, _ []string) error {
	if err := timeoutOfWait(c.cmd, c.wait, c.timeout); err != nil {
		return err
	}
	filter := c.filter
	named := filter.ProjectID != ""
	if named && c.everywhere {
		return bothProjects()
	}
	if filter.Sort = "urgency"; !c.everywhere {
		filter.ProjectID = cmp.Or(filter.ProjectID, c.currentProject())
	}
	var items []wire.InboxItem
	var err error
	if filter.Kind != string(inboxSetAside) { // the server does not know these
		if items, err = Ask(ctx, c.Run, (*client.Client).Inbox, filter); err != nil {
			return err
		}
	} else if c.moment != "" {
		return failure.Usage("--at does not work with --kind %s: nobody knows what was set aside then", inboxSetAside).
			WithNext("leave out one of them")
	} else if c.wait {
		return failure.Usage("--wait does not work with --kind %s: the server has no such items", inboxSetAside).
			WithNext("leave out one of them")
	}
	if c.moment == "" && filter.Kind == "" || filter.Kind == string(inboxSetAside) {
		items = append(items, setAside(ctx, c.Run, filter.ProjectID, filter.SessionID)...)
	}
	elsewhere := 0
	if !named && !c.asData() {
		elsewhere = thingsElsewhere(ctx, c.Run, filter)
	}
	if len(items) == 0 && c.wait && len(c.waiting) == 0 {
		if elsewhere > 0 {
			c.Say("%s\n", inOthers(elsewhere))
			elsewhere = 0
		}
		if items, err = c.await(ctx, filter); err != nil {
			return err
		}
	}
	answerList(c.Run, items, inboxID, func() {
		switch {
		case len(items) > 0:
			showInbox(c.Run, items)
		case filter.Kind != "":
			c.Say("Nothing of this kind%s needs you\n", inNamedProject(ctx, c.Run, filter.ProjectID))
		case c.wait && len(c.waiting) > 0:
			c.Say("There is mail for you\n")
		default:
			c.Say("Nothing%s needs you\n", inNamedProject(ctx, c.Run, filter.ProjectID))
		}
		if elsewhere > 0 {
			c.Say("%s\n", inOthers(elsewhere))
		}
	})
	return nil
}

// inboxID returns the id of what an item is about: what its next step is to deal with.
func inboxID(item wire.InboxItem) string {
	return cmp.Or(item.InputID, item.TaskID, item.SessionID, item.Queue, item.ProjectID)
}

// await waits until something needs the caller.
func (c *inbox) await(ctx context.Context, filter wire.InboxFilter) (items []wire.InboxItem, err error) {
	server, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	over, err := inSlices(ctx, c.Run, server, c.timeout, func(ctx context.Context, slice time.Duration) (bool, error) {
		items, err = server.AwaitInbox(ctx, filter, slice)
		return len(items) > 0 || len(c.waiting) > 0, err
	})
	if err == nil && over {
		what := "Nothing"
		if filter.Kind != "" {
			what = "Nothing of this kind"
		}
		next := "to keep waiting, run the same command again"
		if c.isSession() {
			next += "; `maestro whoami` says what you can do without waiting"
		}
		err = &failure.Error{
			Code:    failure.TimedOut,
			Message: what + " needed you within " + c.timeout.String(),
			Next:    next,
		}
	}
	return items, err
}

// inboxSetAside is the kind of items that only this machine knows: kept commands that were not delivered.
const inboxSetAside wire.InboxKind = "set-aside"

// WhyReplaced is why kept commands are in replaced/ of an outbox.
const WhyReplaced = "kept with a secret that a resume or a revocation has replaced, so not delivered"

// setAside returns the sessions whose kept commands were set aside. If this process may not read the home, it returns
// nothing.
func setAside(ctx context.Context, a *Run, project, session string) []wire.InboxItem {
	h := a.openHome()
	if h == nil {
		return nil
	}
	defer func() { _ = h.Close() }()
	aside, err := outbox.SetAside(ctx, h.Root())
	replaced, failed := outbox.Replaced(ctx, h.Root())
	if err = cmp.Or(err, failed); err != nil {
		a.Say("maestro: cannot tell whether kept commands were set aside: %s\n", err)
	}
	var items []wire.InboxItem
	add := func(of wire.Session, dir, message string, next ...string) {
		item := wire.InboxItem{
			Kind:        inboxSetAside,
			ProjectID:   of.ProjectID,
			SessionID:   of.ID,
			What:        of.Name,
			SessionName: of.Name,
			Message:     message,
			Next:        next,
		}
		if info, err := h.Root().Stat(dir); err == nil {
			item.Since = events.Millis(info.ModTime().UnixMilli())
			item.Waited = max(0, a.Wall().UnixMilli()-int64(item.Since))
		}
		items = append(items, item)
	}
	all := maps.Clone(aside)
	maps.Copy(all, replaced)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		of, err := Ask(ctx, a, (*client.Client).Session, id)
		known := err == nil
		if session != "" && session != id || project != "" && known && of.ProjectID != project {
			continue
		}
		of.ID = id
		damaged, earlier := outbox.AsideDirs(id)
		if n := aside[id]; n > 0 {
			add(of, damaged, Many(n, "kept command")+" set aside and not delivered",
				"read what is in "+filepath.Join(h.Dir(), damaged)+", and remove it")
		}
		if n := replaced[id]; n > 0 {
			dir := filepath.Join(h.Dir(), earlier)
			add(of, earlier, Many(n, "kept command")+" set aside: "+WhyReplaced,
				"read what is in "+dir+", and have the session say what still counts: `maestro session message "+
					safetext.Quoted(id)+" \"<text>\"`",
				"discard it: "+safetext.Line("rm", "-r", dir))
		}
	}
	return items
}

// inboxLines is how many lines of an item's words are shown: nobody should have to decide on a part of a question.
const inboxLines = 20

// inboxAbout says what an item is about, with at most so many characters of a title and of a session's name.
func inboxAbout(item wire.InboxItem, title, name int) string {
	session := withName(item.SessionID, safetext.Clip(item.SessionName, name))
	task, what := item.TaskID, item.What
	if what != item.TaskTitle { // it names something else
		task = withName(task, safetext.Clip(item.TaskTitle, title))
	}
	about := strings.TrimSpace(task + " " + session)
	if what == item.SessionName && what != item.TaskTitle { // the name is beside the id
		what = ""
	}
	if item.SaidDone {
		what = "which says it is done"
	}
	if about == "" && item.Queue != "" {
		if about = "queue " + item.Queue; what == item.Queue {
			what = ""
		}
	}
	if what != "" {
		about += "  " + safetext.Clip(what, title)
	}
	return safetext.OneLine(about)
}

// waitsOf says how long an item has been waiting, and what it holds up.
func waitsOf(item wire.InboxItem, in string) string {
	holdsUp := ""
	if item.HoldsUp > 0 {
		holdsUp = ", holds up " + Many(item.HoldsUp, "task")
	}
	return "(waits " + waited(item.Waited) + holdsUp + in + ")"
}

const (
	// inboxIndent stands before each line of an item but the first.
	inboxIndent = "             "
	// quote marks the lines of a text that may be somebody's.
	quote = "| "
)

// showInbox prints each item: what it is, in whose words, and what to do.
func showInbox(a *Run, items []wire.InboxItem) {
	mixed := several(items, func(x wire.InboxItem) string { return x.ProjectID })
	for _, item := range items {
		in := ""
		if mixed {
			in = ", in " + item.ProjectID
		}
		kind, waits := fmt.Sprintf("%-11s  ", item.Kind), waitsOf(item, in)
		fits := func(text string) bool {
			return a.onScreen() == nil || displaywidth.String(text) <= a.lineWidth()-len(inboxIndent)
		}
		about := inboxAbout(item, 40, 40)
		if fits(about + "  " + waits) {
			a.Print("%s%s  %s\n", kind, about, waits)
		} else {
			for _, most := range []int{30, 20, 10} { // characters of a title, and of a name
				if !fits(about) {
					about = inboxAbout(item, most, most)
				}
			}
			a.hangingBelow(kind, inboxIndent+quote, about)
			a.Print("%s%s\n", inboxIndent, waits)
		}
		// a text of a session must not look like a step of Maestro's own
		for _, line := range wrapped(item.Message, a.lineWidth()-len(inboxIndent+quote), inboxLines) {
			a.Print("%s%s%s\n", inboxIndent, quote, line)
		}
		if len(item.Options) > 0 {
			a.hangingBelow(inboxIndent+quote, inboxIndent+quote, "options: "+strings.Join(item.Options, " · "))
		}
		for _, next := range item.Next {
			a.Print("%s→ %s\n", inboxIndent, next)
		}
	}
}
