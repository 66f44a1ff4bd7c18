package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/outbox"
)

// tellOrKeep sends a command whose answer nobody waits for: a report, a file, the end of a session. It calls wrote once
// the server has the command. If a session does not reach the server, the command is kept, and sent with the session's
// next one, in any case: only the first attempt may be refused because of o.IfFinished.
func tellOrKeep(
	ctx context.Context, a *Run, id string, body any, o client.Options, wrote func(client.Answer),
) error {
	said := time.Now()
	if o.Key == "" {
		o.Key = uuid.NewString() // the same now and later: a lost answer does not repeat the command
	}
	if a.dryRun {
		_, err := a.sendWith(ctx, id, body, o)
		return err
	}
	o.Keep = a.throughSocket() && len(a.unknown) == 0
	answer, err := sendBehind(ctx, a, id, body, o)
	switch {
	case err == nil && answer.Kept != nil:
		a.sayKept(id, *answer.Kept)
		return nil
	case err == nil:
		wrote(answer)
		return nil
	case a.throughSocket() && notNow(err):
		return cmp.Or(unknownTask(a, err), err)
	case a.throughSocket() || !a.isSession() || !notNow(err):
		return err
	}
	if err := guardHere(a, id); err != nil {
		return err
	}
	text, failed := json.Marshal(body)
	if failed != nil {
		return fmt.Errorf("the body of %s: %w", id, failed)
	}
	if err := worthKeeping(id, text, o.Key); err != nil {
		return err
	}
	if err := unknownTask(a, err); err != nil {
		return err
	}
	waiting, failed := keepCommand(ctx, a, outbox.Entry{
		Command:     id,
		Body:        text,
		Key:         o.Key,
		OccurredAt:  said,
		TraceParent: a.traceParent(),
	})
	if failed != nil {
		return notKept(err, failed)
	}
	a.sayKept(id, wire.Kept{Waiting: waiting, Key: o.Key, Why: whyNotNow(err)})
	return nil
}

// sayKept says that a command waits.
func (a *Run) sayKept(id string, waits wire.Kept) {
	shown := waits
	shown.Kept, shown.Why = true, ""
	a.Result(shown, func() {
		when := "with your next command"
		if a.throughSocket() {
			when = "once the server answers"
		}
		a.Print("%s kept, %d waiting: %s. It is sent %s, in order\n", id, waits.Waiting, waits.Why, when)
	})
}

// whyNotNow describes the obstacle, without the number of waiting commands.
func whyNotNow(err error) string {
	var own *failure.Error
	if errors.As(err, &own) && own.Err != nil {
		err = own.Err
	}
	return explain(err).message
}

// sendBehind is send for a command that must not overtake those that wait.
func sendBehind(ctx context.Context, a *Run, id string, body any, o client.Options) (client.Answer, error) {
	c, err := a.Connect(ctx)
	if err != nil {
		return client.Answer{}, err
	}
	if a.backlog != nil {
		return client.Answer{}, a.backlog
	}
	answer, err := c.Do(ctx, id, body, o)
	a.warn(answer)
	return answer, err
}

// notNow reports whether a later attempt may succeed.
func notNow(err error) bool {
	var said *client.Error
	var backlog *backlogError
	var busy *client.BusyError
	switch {
	case errors.As(err, &backlog), errors.As(err, &busy):
		return true
	case errors.As(err, &said):
		return said.Status == http.StatusBadGateway || said.Status == http.StatusServiceUnavailable ||
			said.Status == http.StatusGatewayTimeout
	}
	return unreached(err)
}

// unreached reports whether there was no answer at all.
func unreached(err error) bool { return client.Unreached(err) }

// backlogError says that earlier kept commands are not delivered yet, so that this one is kept after them.
type backlogError struct{ err error }

func (e *backlogError) Error() string {
	return "earlier kept commands are not sent yet: " + e.err.Error()
}

func (e *backlogError) Unwrap() error { return e.err }

// worthKeeping refuses what the server would refuse, because nobody would be there to see the refusal later.
func worthKeeping(id string, body []byte, key string) error {
	command, err := commands.Parse(id, body)
	if err != nil {
		return refusedHere(err)
	}
	if len(body) > outbox.MaxBody {
		return failure.Usage("The command is too long: it has at most 1 MiB").WithNext("shorten it, or split it")
	}
	if key != "" {
		if err := commands.ValidLine(commands.KeyName, key, commands.MaxKey); err != nil {
			return refusedHere(err)
		}
	}
	if err := commands.CheckForm(command); err != nil {
		return refusedHere(err)
	}
	return nil
}

// unknownTask refuses to keep a command that names a task by a plan id or by a part of its id. Only the server knows
// which task that is; the session's manifest knows the ids of its own.
func unknownTask(a *Run, missed error) error {
	if len(a.unknown) == 0 {
		return nil
	}
	own := tasksHere(a)
	for _, text := range a.unknown {
		if slices.ContainsFunc(own, func(t candidate) bool { return t.id == text }) {
			continue
		}
		f := &failure.Error{
			Code: explain(missed).code,
			Message: "Task '" + text + "' cannot be looked up: " + whyNotNow(missed) +
				". The command was NOT sent, and is not kept",
			Why:  "only the server knows which task a plan id or a part of an id means",
			Next: "name the task by its full id, and the command is kept until the server answers",
			Err:  missed,
		}
		if len(own) > 0 {
			f.Next += ". Yours: " + namedIDs(own)
		}
		return f
	}
	return nil
}

// tasksHere returns the tasks of the session's manifest, as far as this machine has it.
func tasksHere(a *Run) []candidate {
	file := manifestFile(a, a.sessionID())
	if file == "" {
		return nil
	}
	m, err := readManifest(a, file)
	if err != nil {
		return nil
	}
	own := make([]candidate, 0, len(m.Tasks))
	for _, t := range m.Tasks {
		own = append(own, candidate{id: t.ID, title: t.Title})
	}
	return own
}

// refusedHere gives a refusal the form in which the server would send it.
func refusedHere(err error) error {
	var refusal *commands.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	status := cmp.Or((&failure.Error{Code: string(refusal.Code)}).HTTPStatus(), http.StatusBadRequest)
	said := wire.Problem{
		Code:    string(refusal.Code),
		Message: refusal.Message,
		Why:     refusal.Why,
		Next:    refusal.Next,
		Rule:    refusal.Rule,
		Pointer: refusal.Pointer,
	}
	if refusal.Denied != nil {
		said.Details, err = json.Marshal((*wire.Denied)(refusal.Denied))
		if err != nil {
			return err
		}
	}
	return &client.Error{Status: status, Problem: said}
}

// keepCommand puts a command into the session's outbox, and creates the home for it on a machine without one.
func keepCommand(ctx context.Context, a *Run, e outbox.Entry) (waiting int, err error) {
	box, done, err := openOutbox(a, home.Create)
	if err != nil {
		return 0, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return box.Keep(ctx, e)
}

func notKept(missed, failed error) error {
	f := &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "NOT_KEPT",
		Err:     failed,
		Message: whyNotNow(missed) + ", and the command was NOT kept",
		Why:     failed.Error(),
		Next:    "run it again once the server answers",
	}
	var full *outbox.FullError
	switch {
	case errors.As(failed, &full) && full.Err != nil:
		f.Next = "make room on the disk of MAESTRO_HOME, then run it again"
	case errors.As(failed, &full):
		f.Next = "wait until the server is there again: your next command delivers what waits; then run it again"
		f.Details = map[string]any{"waiting": full.Waiting, "bytes": full.Bytes}
	}
	return f
}

// openOutbox returns the session's outbox, in the home that open finds or creates.
func openOutbox(a *Run, open func(dir string) (*home.Home, error)) (box *outbox.Outbox, done func(), err error) {
	path, err := home.Path(a.Getenv)
	if err != nil {
		return nil, nil, err
	}
	h, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = h.Close() }
	if box, err = outbox.Open(
		h.Root(),
		a.sessionID(),
		func() string { return a.Getenv(wire.EnvToken) },
	); err != nil {
		done()
		return nil, nil, err
	}
	return box, done, nil
}

// sessionID returns the session of this process.
func (a *Run) sessionID() string { return sessionIn(a.Env) }

// waitingCommands returns the session's outbox if anything waits in it, otherwise nil. It only reads a directory.
func waitingCommands(a *Run) (box *outbox.Outbox, n int, done func()) {
	box, done, err := openOutbox(a, home.Open)
	if err == nil {
		if n, err = box.Waiting(); err == nil && n > 0 {
			return box, n, done
		}
		done()
	}
	// Without a home, or without access to it, an agent has kept nothing.
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		a.Say("maestro: cannot tell whether commands of this session are waiting: %s\n", err)
	}
	return nil, 0, nil
}

// deliverFirst sends this session's waiting commands, once per run; a dry run leaves them. It fails when the server
// cannot be reached; when the server answers but cannot accept them now, it notes that in a.backlog and lets reads
// continue.
func (a *Run) deliverFirst(ctx context.Context, c *client.Client) error {
	if a.delivered || a.dryRun || !a.isSession() || a.throughSocket() {
		return nil
	}
	a.delivered = true
	if !strings.HasPrefix(a.Getenv(wire.EnvToken), wire.SessionTokenPrefix+a.sessionID()+".") {
		return nil // only the holder of the session's secret can verify the entries
	}
	tellRefused(ctx, a)
	box, _, done := waitingCommands(a)
	if box == nil {
		return nil
	}
	defer done()
	// Each entry has its own time limit; patience is for the wait until another process is done.
	d, err := box.Deliver(ctx, patience,
		func(ctx context.Context, e outbox.Entry) error { return deliverKept(ctx, a, c, e) },
		func(ctx context.Context, u outbox.Unproven) (former bool, err error) {
			return u.SaysFormer, knownToServer(ctx, a, c)
		},
	)
	const most = 10
	forged, former := outbox.AsideDirs(a.sessionID())
	dir := path.Dir(forged)
	for i, damaged := range d.Damaged {
		if i == most {
			a.Say("maestro: %d more are in %s/ and %s/ of %s of the home\n", len(d.Damaged)-most, path.Base(forged),
				path.Base(former), dir)
			break
		}
		what := "is damaged and"
		if damaged.Replaced {
			what = "with a replaced secret"
		}
		a.Say(
			"maestro: a kept command %s will not be sent: %s\n  it is now in %s/%s of the home\n",
			what,
			damaged.Why,
			dir,
			damaged.File,
		)
	}
	if d.Delivered > 0 && !a.JSON {
		a.Say("maestro: %s\n", deliveredWords(d.Delivered, a.refused))
	}
	return afterDelivery(a, err)
}

// deliveredWords describes the server's answers to the kept commands.
func deliveredWords(answered, refused int) string {
	if refused == 0 {
		return "delivered " + Many(answered, "kept command")
	}
	return fmt.Sprintf(
		"of %s, %d delivered and %d refused",
		Many(answered, "kept command"),
		answered-refused,
		refused,
	)
}

// knownToServer fails unless the server accepts this process's secret. With a revoked secret, an entry made with a
// newer one looks forged.
func knownToServer(ctx context.Context, a *Run, c *client.Client) error {
	_, err := c.Whoami(ctx)
	return err
}

// deliverKept sends one waiting command. It returns nil once the server has given a final answer.
func deliverKept(ctx context.Context, a *Run, c *client.Client, e outbox.Entry) error {
	_, err := c.Do(ctx, e.Command, e.Body, client.Options{
		Key: e.Key, OccurredAt: e.OccurredAt, TraceParent: events.TraceParent(e.TraceParent),
	})
	var said *client.Error
	if !errors.As(err, &said) || !client.ForGood(said) {
		return err
	}
	a.refused++
	a.sayRefused(outbox.Refused{
		Command:    e.Command,
		Said:       e.Said(),
		Key:        e.Key,
		OccurredAt: e.OccurredAt,
		Denied:     said.Status == http.StatusForbidden,
		Message:    said.Message,
		Why:        said.Why,
		Next:       said.Next,
	})
	return nil
}

// afterDelivery explains what an incomplete delivery means for the command of this run.
func afterDelivery(a *Run, err error) error {
	var said *client.Error
	var busy *outbox.BusyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy), errors.Is(err, context.Canceled):
		return a.withWaiting(err)
	case errors.As(err, &said):
		_, n, done := waitingCommands(a)
		if done != nil {
			done()
		}
		a.Say("maestro: %s, because the server does not accept that now: %s\n", stillWaiting(n), said.Message)
		if said.Status != http.StatusUnauthorized { // a command of this run gets the same answer, and is not kept
			a.backlog = &backlogError{err}
		}
		return nil
	case unreached(err):
		return a.withWaiting(err)
	}
	// A disk error. That the server hears from the session matters more than the order.
	a.Say("maestro: kept commands could not be delivered: %s\n", err)
	return nil
}

// stillWaiting says how many earlier commands are kept.
func stillWaiting(n int) string {
	if n == 1 {
		return "1 earlier command is still waiting"
	}
	return fmt.Sprintf("%d earlier commands are still waiting", n)
}

// withWaiting adds to a connection error that the command was not sent, and how many earlier ones wait.
func (a *Run) withWaiting(err error) error {
	if !a.isSession() || a.throughSocket() || !unreached(err) {
		return err
	}
	_, n, done := waitingCommands(a)
	if done == nil {
		return err
	}
	done()
	f := &failure.Error{Err: err, Details: map[string]any{"waiting": n}}
	var connection *client.ConnectionError
	var busy *outbox.BusyError
	if !errors.As(err, &connection) && !errors.As(err, &busy) {
		f.Err = &client.ConnectionError{URL: "the server", Err: err}
	}
	e := explain(f.Err)
	f.Code, f.Why, f.Next = e.code, e.why, e.next
	f.Message = fmt.Sprintf("%s. This command was not sent, and is not kept; %s", e.message, stillWaiting(n))
	return f
}
