package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/lazyregexp"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// sessionMeant returns the id of the session that a text means: an id, the beginning of one, or a session's name. Names
// are not unique: if several sessions have it, the only one that has not ended is meant. It returns the text itself if
// it means none, or if no server can tell.
func (a *Run) sessionMeant(ctx context.Context, kind idKind, text string) (string, error) {
	if text == parent || text == a.Getenv(wire.EnvSessionID) || madeID().MatchString(text) {
		return text, nil
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return text, nil //nolint:nilerr // the command reports the error itself, and may be kept
	}
	var begins []candidate
	if anyID().MatchString(text) {
		prefix := text
		if !strings.HasPrefix(text, kind.word+"_") {
			if exists, _ := kind.is(ctx, c, text); exists {
				return text, nil // a client chose it, and it is not a prefix of another
			}
			prefix = kind.word + "_" + text
		}
		if len(text) >= shortest {
			begins, err = kind.find(ctx, c, prefix, candidatesMost+1)
		}
		if ctx.Err() != nil || err != nil {
			return text, ctx.Err() // the server's error about the text itself is clearer
		}
		if slices.ContainsFunc(begins, func(x candidate) bool { return x.id == text }) {
			return text, nil
		}
		if len(begins) > candidatesMost {
			if exists, _ := kind.is(ctx, c, text); exists {
				return text, nil
			}
		}
	}
	named, err := a.sessionsNamed(ctx, c, text)
	if err != nil {
		return text, ctx.Err()
	}
	all := named
	for _, x := range begins {
		if !slices.Contains(named, x) {
			all = append(slices.Clip(all), x)
		}
	}
	switch {
	case len(all) == 0:
		return text, nil
	case len(all) == 1:
		return all[0].id, nil
	case len(named) == 0:
		return "", ambiguous(text, all)
	case len(named) < len(all):
		return "", failure.Usage("%s is a session's name, and the beginning of another one's id", text).
			WithNext("name one: %s", namedIDs(all))
	}
	return "", failure.Usage("%s is the name of more than one session", text).WithNext("name one: %s", namedIDs(all))
}

// sessionsNamed returns the sessions with a name, in the current project if there are any: only those that have not
// ended, if there are any.
func (a *Run) sessionsNamed(ctx context.Context, c *client.Client, name string) ([]candidate, error) {
	filter := wire.SessionFilter{Name: name, Brief: "true", ProjectID: a.currentProject()}
	found, err := c.FirstSessions(ctx, filter, candidatesMost+1)
	if err == nil && len(found) == 0 && filter.ProjectID != "" {
		filter.ProjectID = ""
		found, err = c.FirstSessions(ctx, filter, candidatesMost+1)
	}
	if err == nil && len(found) > 1 {
		filter.Living = "true"
		living, failed := c.FirstSessions(ctx, filter, candidatesMost+1)
		if len(living) > 0 {
			found = living
		}
		err = failed
	}
	return candidates(found, func(x wire.Session) candidate { return candidate{id: x.ID, title: x.Name} }), err
}

// withName returns a session's id with its name, as wherever a session is mentioned: "sess_k3f9x2m7qa (worker-1)".
func withName(id, name string) string {
	return safetext.Named(id, name)
}

// withNames is withName for a list.
func withNames(ids, names []string) []string {
	shown := make([]string, len(ids))
	for i, id := range ids {
		shown[i] = withName(id, At(names, i))
	}
	return shown
}

// allNamed returns ids with their names.
func allNamed(ids []string, names map[string]string) string {
	shown := make([]string, len(ids))
	for i, id := range ids {
		shown[i] = withName(id, names[id])
	}
	return strings.Join(shown, ", ")
}

// WhoNamed is Who with the name of a session.
func WhoNamed(source string, names map[string]string) string {
	_, session, _ := wire.SessionOfSource(source)
	name := names[session]
	if name == "" || name == session {
		return Who(source)
	}
	return withName(Who(source), name)
}

// idsInText matches the ids that Maestro makes for tasks and sessions.
var idsInText = lazyregexp.New(`\b(task|sess)_[a-z0-9]{10}\b`)

// IDsIn returns the ids of tasks and sessions in a text.
func IDsIn(text string) []string { return idsInText().FindAllString(text, -1) }

// Mention adds to each id in Maestro's own words its name, once, unless the words say it already.
func Mention(text string, names map[string]string) string {
	said := map[string]bool{}
	return idsInText().ReplaceAllStringFunc(text, func(id string) string {
		name := names[id]
		quoted := strings.Trim(strconv.Quote(name), `"`)
		if name == "" || said[id] || strings.Contains(text, name) || strings.Contains(text, quoted) {
			return id
		}
		said[id] = true
		return withName(id, name)
	})
}

// MentionIn returns a description with the names of what it names by id, each once, unless the words say it already.
func MentionIn(d events.Description, names map[string]string) string {
	text, said := d.String(), map[string]bool{}
	return d.Naming(func(id string) string {
		name := names[id]
		quoted := strings.Trim(strconv.Quote(name), `"`)
		if name == "" || said[id] || strings.Contains(text, name) || strings.Contains(text, quoted) {
			return id
		}
		said[id] = true
		return withName(id, name)
	})
}

// longestHappened bounds what a line of history says of an event, in columns of a terminal: a report has up to a
// thousand characters, and one of them must not hide the others.
const longestHappened = 160

// Happened is MentionIn for a line of history: one line, cut if it is long.
func Happened(d events.Description, names map[string]string) string {
	return clip(MentionIn(d, names), longestHappened)
}

// isOtherActor reports whether a text means an actor that is no session: one of those that always exist, or a token. A
// caller that may not list the tokens means a session.
func (a *Run) isOtherActor(ctx context.Context, text string) bool {
	if commands.IsReserved(text) {
		return true
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return false
	}
	tokens, err := c.Tokens(ctx)
	return err == nil && slices.ContainsFunc(tokens, func(t wire.TokenView) bool { return t.Name == text })
}
