package cli

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/lazyregexp"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// Wherever a command line takes an id, a prefix of one suffices, with or without the word before it: task_4096 or, from
// four characters on, 4096. A full id in Maestro's own form costs no call. Anything else is looked up, and sent
// unchanged if no id begins with it. A task may also be named by its plan id.

// candidate is a thing whose id begins with the typed prefix. maker is the session that made a project, "" for a user.
type candidate struct{ id, title, maker string }

func ofTask(t wire.Task) candidate { return candidate{id: t.ID, title: t.Title} }

func ofProject(p wire.Project) candidate { return candidate{p.ID, p.Name, makingSession(p)} }

// idKind describes how the ids of a kind begin, and finds those with a prefix.
type idKind struct {
	word string
	find func(ctx context.Context, c *client.Client, begins string, most int) ([]candidate, error)
}

// is reports whether an object with exactly the typed id exists. If that is unknown it reports true and the reason: the
// command then reports the error.
func (k idKind) is(ctx context.Context, c *client.Client, id string) (exists bool, err error) {
	switch k.word {
	case "task":
		_, err = c.Task(ctx, id)
	case "sess":
		_, err = c.Session(ctx, id)
	case "proj":
		_, err = c.Project(ctx, id)
	default:
		return false, nil // clients choose no ids of this kind
	}
	var said *client.Error
	if errors.As(err, &said) && said.Status == http.StatusNotFound {
		return false, nil
	}
	return true, err
}

// notLookedUp notes that nobody could tell which task a text on the command line means: such a command may be sent, but
// not kept, because the refusal would come when nobody is there to correct it.
func (a *Run) notLookedUp(name, text string, err error) {
	if err != nil && name == "taskId" && notNow(err) {
		a.unknown = append(a.unknown, text)
	}
}

// idKinds are the kinds by their names in placeholders.
var idKinds = map[string]idKind{
	"taskId": {"task", func(ctx context.Context, c *client.Client, begins string, most int) ([]candidate, error) {
		found, err := c.FirstTasks(ctx, wire.TaskFilter{IDPrefix: begins}, most)
		return candidates(found, ofTask), err
	}},
	"sessionId": {"sess", func(ctx context.Context, c *client.Client, begins string, most int) ([]candidate, error) {
		found, err := c.FirstSessions(ctx, wire.SessionFilter{IDPrefix: begins, Brief: "true"}, most)
		return candidates(found, func(x wire.Session) candidate { return candidate{id: x.ID, title: x.Name} }), err
	}},
	"projectId": {"proj", func(ctx context.Context, c *client.Client, begins string, most int) ([]candidate, error) {
		found, err := c.FirstProjects(ctx, wire.ProjectFilter{IDPrefix: begins}, most)
		return candidates(found, ofProject), err
	}},
	"questionId": {"input", func(ctx context.Context, c *client.Client, begins string, most int) ([]candidate, error) {
		found, err := c.FirstInputs(ctx, wire.InputFilter{IDPrefix: begins}, most)
		return candidates(found, func(x wire.Input) candidate { return candidate{id: x.ID, title: x.Question} }), err
	}},
	"templateId": {"tmpl", func(ctx context.Context, c *client.Client, begins string, _ int) ([]candidate, error) {
		found, err := c.Templates(ctx) // there are few
		var like []candidate
		for _, t := range found {
			if strings.HasPrefix(t.ID, begins) {
				like = append(like, candidate{id: t.ID, title: t.Name})
			}
		}
		return like, err
	}},
	"webhookId": {"hook", func(ctx context.Context, c *client.Client, begins string, _ int) ([]candidate, error) {
		found, err := c.Webhooks(ctx) // there are few
		var like []candidate
		for _, x := range found {
			if strings.HasPrefix(x.ID, begins) {
				like = append(like, candidate{id: x.ID, title: x.Name})
			}
		}
		return like, err
	}},
}

func candidates[T any](found []T, of func(T) candidate) []candidate {
	made := make([]candidate, 0, len(found))
	for _, x := range found {
		made = append(made, of(x))
	}
	return made
}

var (
	// anyID matches an id or a prefix of one.
	anyID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	// madeID is an id as Maestro makes them.
	madeID = lazyregexp.New(`^[a-z]+_[0-9a-z]{10,}$`)
	// eventID is the sequence of an event, or its id.
	eventID = lazyregexp.New(`^([0-9]+|[0-9a-f]{8}-[0-9a-f-]{27})$`)
)

// makesSession are the commands that create a session with the given id, if there is none.
var makesSession = map[string]bool{
	"maestro session register":  true,
	"maestro worker init":       true,
	"maestro orchestrator init": true,
}

// shortest is the minimum length of an id's prefix without the word before it.
const shortest = 4

// candidatesMost bounds the number of ids in an error.
const candidatesMost = 10

// fullIDs replaces the prefixes of ids on a command line by the ids.
func (a *Run) fullIDs(cmd *cobra.Command, args []string) error {
	if of := cmd.Flags().Lookup("api-url"); of != nil && of.Changed {
		return nil // another server is meant
	}
	ctx := cmd.Context()
	places := placeholders(cmd.Use)
	for i, arg := range args {
		if len(places) == 0 || i >= len(places) && !places[len(places)-1].many {
			break
		}
		name := places[min(i, len(places)-1)].name
		if name == "sessionId" && makesSession[cmd.CommandPath()] {
			continue // it may be a session yet to be created
		}
		var full string
		var err error
		switch {
		case name != "projectId" || strings.HasPrefix(arg, "proj_"):
			full, err = a.fullID(ctx, name, arg)
		case a.isSession():
			continue
		default:
			full, err = a.projectNamed(ctx, arg) // it may be a project's name
		}
		if err != nil {
			return err
		}
		args[i] = full
	}
	var failed error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		kind := strings.Trim(flag.Value.Type(), "<>")
		if _, one := idKinds[kind]; !one {
			kind = strings.TrimSuffix(kind, "s")
		}
		if kind == "sessionId" && makesSession[cmd.CommandPath()] {
			return
		}
		if _, one := idKinds[kind]; (one || kind == "actor") && failed == nil {
			failed = a.fullFlag(ctx, kind, flag)
		}
	})
	return failed
}

// fullFlag does the same for the value of a flag, or for each of its values.
func (a *Run) fullFlag(ctx context.Context, kind string, flag *pflag.Flag) error {
	value := flagValue(flag)
	all := func(items []string) ([]string, error) {
		full := make([]string, len(items))
		for i, item := range items {
			var err error
			if full[i], err = a.fullID(ctx, kind, strings.TrimSpace(item)); err != nil {
				return nil, err
			}
		}
		return full, nil
	}
	switch v := value.(type) {
	case *listValue:
		full, err := all(v.items())
		if err == nil {
			v.put(full)
		}
		return err
	case pflag.SliceValue:
		full, err := all(v.GetSlice())
		if err != nil {
			return err
		}
		return v.Replace(full)
	}
	full, err := a.fullID(ctx, kind, value.String())
	if err != nil || full == value.String() {
		return err
	}
	return value.Set(full)
}

// taskOrSession returns the session that has a text as its name, "" if there is none, or if the text is a task's id or
// plan id.
func (a *Run) taskOrSession(ctx context.Context, text string) (string, error) {
	if madeID().MatchString(text) || strings.Contains(text, "/") {
		return "", nil
	}
	task, err := a.fullID(ctx, "taskId", text)
	if err != nil || task != text {
		return "", nil //nolint:nilerr // it means a task, or several
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // the command itself reports it
	}
	if exists, _ := idKinds["taskId"].is(ctx, c, text); exists {
		return "", nil
	}
	named, err := a.sessionsNamed(ctx, c, text)
	switch {
	case err != nil || len(named) == 0:
		return "", ctx.Err()
	case len(named) > 1:
		return "", failure.Usage("%s is the name of more than one session", text).
			WithNext("name one: %s", namedIDs(named))
	}
	return named[0].id, nil
}

// fullID returns the only id of a kind with a prefix; the prefix itself if there is none, or if no server can tell.
func (a *Run) fullID(ctx context.Context, name, text string) (string, error) {
	if name == "id" || name == "target" || name == "actor" { // of any kind, which the text shows
		word, _, _ := strings.Cut(text, "_")
		for kind, of := range idKinds {
			if of.word == word {
				name = kind
			}
		}
	}
	if name == "id" && !eventID().MatchString(text) {
		if meant, err := a.taskOrSession(ctx, text); err != nil || meant != "" {
			return meant, err
		}
		name = "taskId" // it may be a plan id
	}
	if name == "actor" && !a.isOtherActor(ctx, text) {
		name = "sessionId" // it may be a session's name
	}
	kind, known := idKinds[name]
	if name == "sessionId" {
		return a.sessionMeant(ctx, kind, text)
	}
	if !known || !anyID().MatchString(text) || madeID().MatchString(text) || text == rootsOnly ||
		text == a.Getenv(wire.EnvSessionID) || text == a.Getenv(wire.EnvProjectID) {
		return text, nil
	}
	begins := text
	if !strings.HasPrefix(text, kind.word+"_") {
		if len(text) < shortest && name != "taskId" || name == "templateId" {
			return text, nil // Maestro's own templates have names as ids
		}
		begins = kind.word + "_" + text
	}
	c, err := a.Connect(ctx)
	if err != nil {
		a.notLookedUp(name, text, err)
		return text, nil // the command reports the error itself, and may be kept
	}
	if name == "taskId" && a.isSession() {
		if own, known := a.ownTask(ctx, c, func(t wire.OwnTask) bool { return t.PlanID == text }); known {
			return own, nil
		}
	}
	if len(text) < shortest {
		return a.oneOf(ctx, c, text, nil)
	}
	if begins != text {
		exists, err := kind.is(ctx, c, text)
		if a.notLookedUp(name, text, err); exists {
			return text, nil // a client chose it, and it is not a prefix of another
		}
	}
	found, err := kind.find(ctx, c, begins, candidatesMost+1)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && name == "taskId" && a.isSession():
		a.notLookedUp(name, text, err)
		// A session that may not list tasks still knows its own.
		own, known := a.ownTask(ctx, c, func(t wire.OwnTask) bool { return strings.HasPrefix(t.ID, begins) })
		if known {
			return own, nil
		}
		return text, nil
	case err != nil:
		a.notLookedUp(name, text, err)
		return text, nil // the server's error about the text itself is clearer
	case slices.ContainsFunc(found, func(x candidate) bool { return x.id == text }):
		return text, nil
	case len(found) > candidatesMost:
		exists, err := kind.is(ctx, c, text)
		if a.notLookedUp(name, text, err); exists {
			return text, nil
		}
	}
	switch {
	case name == "taskId":
		return a.oneOf(ctx, c, text, found)
	case len(found) == 0:
		return text, nil
	}
	if !a.isSession() {
		found = noSessions(found)
	}
	if len(found) == 1 {
		if maker := found[0].maker; maker != "" && !a.isSession() {
			a.Say("maestro: the project %q is %s, which session '%s' created\n", text, found[0].id, maker)
		}
		return found[0].id, nil
	}
	return "", ambiguous(text, found)
}

// rootsOnly is the value that names no parent.
const rootsOnly = "null"

// ambiguous returns the error for the prefix of several ids.
func ambiguous(text string, found []candidate) error {
	return failure.Usage("%s is the beginning of more than one id", text).WithNext("name one: %s", namedIDs(found))
}

// idsOf lists the ids of what has the same name.
func idsOf(found []candidate) string {
	ids := make([]string, 0, candidatesMost)
	for _, x := range found[:min(len(found), candidatesMost)] {
		ids = append(ids, x.id)
	}
	return strings.Join(ids, ", ") + moreThan(found)
}

// namedIDs lists what a text may mean.
func namedIDs(found []candidate) string {
	named := make([]string, 0, candidatesMost)
	for _, x := range found[:min(len(found), candidatesMost)] {
		named = append(named, x.id+" ("+safetext.Clip(safetext.OneLine(x.title), 40)+")")
	}
	return strings.Join(named, ", ") + moreThan(found)
}

// moreThan says that a list of candidates is cut.
func moreThan(found []candidate) string {
	if len(found) > candidatesMost {
		return " and more"
	}
	return ""
}
