package projections

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"maestro/events"
)

// pools are the ids in the events of random stories, by the field that holds them. SpawnedBy has no pool, because
// sessions cannot have spawned each other.
var pools = map[string][]string{
	"ProjectID":    poolProjects,
	"TaskID":       poolTasks,
	"ParentID":     poolTasks,
	"SessionID":    poolSessions,
	"Queue":        poolQueues,
	"InputID":      poolInputs,
	"TemplateID":   poolTemplates,
	"WebhookID":    poolWebhooks,
	"TaskIDs":      poolTasks,
	"Started":      poolTasks,
	"Queued":       poolTasks,
	"Dependencies": poolTasks,
	"Descendants":  poolTasks,
	"ProjectIDs":   poolProjects,
	"Children":     poolTokens,
}

// words are the values of types with few values.
var words = map[reflect.Type][]string{
	reflect.TypeFor[events.TaskStatus]():    {"todo", "in_progress", "completed", "cancelled", "blocked"},
	reflect.TypeFor[events.SessionStatus](): {"idle", "running", "working", "stopped", "failed"},
	reflect.TypeFor[events.StuckKind]():     {"silent", "loop"},
	reflect.TypeFor[events.ReportKind]():    {"progress", "complete", "blocked", "error", "needs-input"},
	reflect.TypeFor[events.Role]():          {"worker", "orchestrator"},
	reflect.TypeFor[events.Strategy]():      {"simple", "queue", "tree", "dag"},
	reflect.TypeFor[events.TokenKind]():     {"admin", "auditor", "read-only"},
	reflect.TypeFor[events.ParkReason]():    {"failing", "gone", "position unknown"},
}

// deck has each type of the catalogue as often as its weight: events of tasks and sessions often, deletions seldom.
var deck = func() []events.Entry {
	var deck []events.Entry
	for _, entry := range events.Catalogue() {
		copies := 12
		switch {
		case entry.Type == "maestro.project.created.v1", entry.Type == "maestro.project.deleted.v1":
			copies = 4
		case strings.Contains(entry.Type, ".deleted."):
			copies = 8
		case strings.HasPrefix(entry.Type, "maestro.task."):
			copies = 72
		case strings.HasPrefix(entry.Type, "maestro.session."):
			copies = 36
		}
		for range copies {
			deck = append(deck, entry)
		}
	}
	return deck
}()

// anything makes up an event of any type of the catalogue, which may contradict the state.
func anything(r *rand.Rand) given {
	m := maker{r, fmt.Sprintf("text %d ✓", r.IntN(1000))}
	data := deck[r.IntN(len(deck))].New()
	v := reflect.ValueOf(data).Elem()
	m.fill(v)
	if kind, _ := data.Aggregate(); kind == events.AggregateToken {
		v.FieldByName("Name").SetString(m.one(poolTokens))
	}
	g := given{
		by:      m.one([]string{admin, worker, orch, "/runners/r", "/system"}),
		data:    data,
		project: m.one(poolProjects),
	}
	if r.IntN(4) == 0 {
		g.said = epoch.Add(-time.Hour)
	}
	return g
}

// maker makes up the fields of an event.
type maker struct {
	*rand.Rand
	text string
}

func (m maker) one(from []string) string { return from[m.IntN(len(from))] }

// fill sets the fields of a payload; each optional field is absent half of the time.
func (m maker) fill(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if strings.Contains(field.Tag.Get("json"), ",omitempty") && m.IntN(2) == 0 {
			continue
		}
		from := pools[field.Name]
		if own := v.FieldByName("SessionID"); field.Name == "Queue" && own.IsValid() && m.IntN(3) == 0 {
			from = []string{own.String()} // a session's own queue is named by its id
		}
		m.set(v.Field(i), from)
	}
}

// set sets one field, from a pool if there is one.
func (m maker) set(v reflect.Value, from []string) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(m.one([]string{`{"a": [1]}`, `{ }`})))
		return
	case events.Blobs:
		v.Set(reflect.ValueOf(events.Blobs{m.one([]string{"description", "message"}): m.text}))
		return
	}
	if words := words[v.Type()]; words != nil {
		v.SetString(m.one(words))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		m.set(v.Elem(), from)
	case reflect.Struct:
		m.fill(v)
	case reflect.String:
		if v.SetString(m.text); from != nil {
			v.SetString(m.one(from))
		}
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(1 + m.Int64N(3))
	case reflect.Int64: // a time or a duration
		v.SetInt([]int64{epoch.UnixMilli(), 60_000 * (1 + m.Int64N(3))}[m.IntN(2)])
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"A": m.text}))
	case reflect.Slice:
		if from == nil {
			from = []string{m.text, "another"}
		}
		for _, text := range from {
			if m.IntN(3) == 0 {
				v.Set(reflect.Append(v, reflect.ValueOf(text)))
			}
		}
	default:
		panic(fmt.Sprintf("a random event has no %s: teach it", v.Type()))
	}
}
