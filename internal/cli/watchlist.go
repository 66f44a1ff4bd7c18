package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// watchPause is the time from a change to the list that shows it, so that many changes are shown together.
const watchPause = 200 * time.Millisecond

// watchEvery is how often a list of what are no events is looked at.
const watchEvery = 2 * time.Second

// clearScreen moves to the top of a terminal and clears it.
const clearScreen = "\x1b[H\x1b[2J"

// WatchFlag adds --watch to a command that lists: it then shows its list again whenever it changes. kinds are the kinds
// of views that the list is made from; none for all.
func (a *Run) WatchFlag(cmd *cobra.Command, kinds ...string) {
	a.watchFlag(cmd, false, wire.LiveFilter{Kinds: strings.Join(kinds, ","), After: wire.LiveAfterNow})
}

// watchTicksFlag is WatchFlag for lists that show what are no events, such as refusals, or what a webhook's receiver
// does: it also looks at them every two seconds.
func (a *Run) watchTicksFlag(cmd *cobra.Command) {
	a.watchFlag(cmd, true, wire.LiveFilter{After: wire.LiveAfterNow})
}

func (a *Run) watchFlag(cmd *cobra.Command, ticks bool, filter wire.LiveFilter) {
	on := false
	cmd.Flags().BoolVar(&on, "watch", false,
		"show this now and again after each change, until Ctrl-C; workers may not use it")
	list := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !on {
			return list(cmd, args)
		}
		w := &listWatch{Run: a, typed: cmd.CommandPath(), list: func() error {
			err := list(cmd, args)
			if ran := (*ranError)(nil); errors.As(err, &ran) {
				return ran.err
			}
			return err
		}}
		w.filter = filter
		if ticks {
			ticker := time.NewTicker(watchEvery)
			defer ticker.Stop()
			w.ticks = ticker.C
		}
		return Running(func(ctx context.Context, _ []string) error { return w.run(ctx) })(cmd, args)
	}
}

// listWatch shows a list whenever it changes.
type listWatch struct {
	*Run
	list func() error
	// typed is the command that lists.
	typed  string
	filter wire.LiveFilter
	// ticks has it look at the list also if nothing happens; nil if what happens are events.
	ticks <-chan time.Time
	last  string
	shown bool
}

func (w *listWatch) run(ctx context.Context) error {
	if w.oneDocument() {
		return severalDocuments("--watch")
	}
	ctx, cancel := context.WithCancel(ctx)
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	server, err := w.Connect(ctx) // before the goroutine starts: the list and the live views share this client
	if err != nil {
		cancel()
		return err
	}
	beside := *w.Run // a copy, because each of the two remembers the server's address
	go func() {
		ended <- follow(ctx, &beside, server, w.filter, func(client.LiveMessage) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	for {
		select {
		case err = <-ended:
			cancel()
			return w.mayNotWatch(err)
		case <-changed:
			err = w.show()
		case <-w.ticks:
			err = w.show()
		}
		if err != nil && !comesBack(err) {
			cancel()
			return errors.Join(err, whyEnded(<-ended))
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// mayNotWatch says of a caller that may not watch that it may still list.
func (w *listWatch) mayNotWatch(err error) error {
	var said *client.Error
	if !errors.As(err, &said) || said.Rule != "watch" {
		return err
	}
	return &failure.Error{
		Err:     err,
		Status:  said.Status,
		Code:    said.Code,
		Message: "You may not use --watch",
		Why:     said.Message,
		Next:    "run `" + w.typed + "` without --watch",
	}
}

// whyEnded returns why the following of a list ended, nil if that was because the list could not be shown.
func whyEnded(err error) error {
	if errors.As(err, new(*commandExit)) {
		return nil
	}
	return err
}

// show runs the list and prints what it shows, if that is not what it showed last: on a terminal in its place,
// elsewhere below it.
func (w *listWatch) show() error {
	screen := w.onScreen()
	stdout, stderr := w.Stdout, w.Stderr
	var list, notes bytes.Buffer
	w.Stdout, w.Stderr, w.Screen = &list, &notes, screen
	err := w.list()
	w.Stdout, w.Stderr = stdout, stderr
	text := list.String() + notes.String()
	if err != nil || w.shown && text == w.last {
		return err
	}
	before := ""
	switch {
	case screen != nil:
		before = clearScreen
	case w.shown && !w.asData():
		before = "\n"
	}
	w.last, w.shown = text, true
	w.write([]byte(before + screen.cut(list.String(), strings.Count(notes.String(), "\n"))))
	_, _ = w.Stderr.Write(notes.Bytes())
	return w.broken
}

// cut shortens a list that is longer than the terminal, which would scroll, and says how many lines it leaves out.
// below is how many lines follow it.
func (s *Screen) cut(list string, below int) string {
	if s == nil || s.Height <= 0 {
		return list
	}
	lines := strings.SplitAfter(list, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	most := max(s.Height-2-below, 1) // the last line of the terminal has the cursor
	if len(lines) <= most+1 {
		return list
	}
	return strings.Join(lines[:most], "") + Many(len(lines)-most, "more line") +
		": narrow the list, or make the terminal higher\n"
}
