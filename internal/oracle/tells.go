package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Cause returns the ids of the event that caused a command's result, and of the first in that chain; "" for none.
func (j *Judge) Cause(command Command) (cause, first string) {
	cause = j.asked(command, "").cause()
	return cause, j.roots[cause]
}

// Tells says how an event differs from the required event of its command; "" if it does not. The Judge must have seen
// the lines before it.
func (j *Judge) Tells(command Command, body []byte) string {
	e, err := readEvent(body)
	if err != nil {
		return err.Error()
	}
	blank := known[e.Type]
	if blank == nil {
		return "its type is unknown"
	}
	is := blank()
	if err := decodeData(e.Data, is); err != nil {
		return err.Error()
	}
	command.At = e.Time
	fresh := ""
	if maker, ok := is.(interface{ made() string }); ok {
		fresh = maker.made()
	}
	a := j.asked(command, fresh)
	must := a.propose()
	switch {
	case must == nil:
		return "its command should not become an event"
	case reflect.TypeOf(must) != reflect.TypeOf(is):
		return fmt.Sprintf("it is a %T, but its command becomes a %T", is, must)
	case e.Project != a.event.Project && fresh != e.Project:
		return fmt.Sprintf("it belongs to project %q, but its command to project %q", e.Project, a.event.Project)
	}
	return differ(members(is), members(must))
}

// made returns the id of what an event created.
func (f *projectCreated) made() string { return f.ProjectID }

func (f *taskCreated) made() string { return f.TaskID }

func (f *sessionSpawned) made() string { return f.SessionID }

func (f *sessionRegistered) made() string { return f.SessionID }

func (f *sessionReported) made() string { return f.InputID }

func (f *preflightFailed) made() string { return f.InputID }

func (f *templateCreated) made() string { return f.TemplateID }

func (f *webhookCreated) made() string { return f.WebhookID }

// members returns a payload's non-empty members, with lists of commands and names sorted.
func members(what fact) map[string]any {
	text, err := json.Marshal(what)
	if err != nil {
		return nil
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	switch what := what.(type) {
	case *sessionSpawned:
		delete(all, "unmetDependencies") // a queue that trusts reports may differ
		all["permissions"] = what.Permissions.sorted()
	case *sessionRegistered:
		if created, ok := all["created"].(map[string]any); ok {
			created["permissions"] = what.Created.Permissions.sorted()
		}
	case *sessionReported:
		delete(all, "sessionCompleted") // it may repeat that
		delete(all, "blobs")
		if what.Blobs["message"] != "" || len(what.Message) >= maxStored {
			delete(all, "message")
		}
	case *taskUpdated:
		if place, ok := all["order"].(map[string]any); ok {
			delete(place, "key") // judged by the resulting place of the task
			delete(place, "respaced")
		}
	case *tokenRevoked:
		all["children"] = slices.Sorted(slices.Values(what.Children))
		if what.SessionID == "" {
			delete(all, "generation") // the documents leave open which one
		}
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return empty(value) })
	return all
}

func empty(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

func (p permissions) sorted() string {
	return fmt.Sprint(p.Explicit, slices.Sorted(slices.Values(p.Commands)))
}

func differ(is, must map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(must)) {
		if !reflect.DeepEqual(is[name], must[name]) {
			return fmt.Sprintf("its %s is %v, and its command makes it %v", name, is[name], must[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if must[name] == nil {
			return fmt.Sprintf("its %s is %v, and its command says nothing of it", name, is[name])
		}
	}
	return ""
}

// cause returns the id of the event that caused the command's result: the cause of the object itself, or the creation
// of the calling session; "" for none.
func (a *asked) cause() string {
	f := a.f
	switch a.ID {
	case "queue:start", "queue:skip", "queue:complete", "queue:fail":
		q, s := a.line()
		if s != nil && s.holds != nil {
			return s.holds.cause
		}
		if first, _ := a.first(q); first != nil {
			return first.cause
		}
		return ""
	case "queue:return", "queue:quarantine":
		if i := a.itemOf(f.Queue, f.TaskID); i != nil && a.sessions[i.holder] != nil {
			return a.sessions[i.holder].gone
		}
	case "webhook:park":
		if w := a.webhooks[f.WebhookID]; w != nil {
			return w.began
		}
	case "input:answer":
		return a.questions[f.InputID].asked
	case "input:received":
		if q := a.questions[f.InputID]; q != nil {
			return q.replied
		}
		return a.sessions[a.by.id].mail[f.InputID].event
	}
	s := a.sessions[f.SessionID]
	switch {
	case a.by.kind == byRunner && s != nil:
		return s.causeOfRun(a.ID)
	case a.ID == "session:recovered" && s != nil:
		return s.gone
	case (a.ID == "session:lost" || a.ID == "session:timed-out") && s != nil:
		return s.made
	case a.by.kind == bySession:
		return a.sessions[a.by.id].made
	}
	return ""
}
