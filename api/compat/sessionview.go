package compat

import (
	"encoding/json"
	"maps"

	"maestro/api/route"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// SessionBody shows a session to older clients, with its events and its timeline. Our own clients read the
// [wire.Session] in it.
type SessionBody struct {
	SessionHead
	Events   service.List[SessionEvent] `json:"events"`
	Timeline service.List[wire.Entry]   `json:"timeline"`
}

// Place implements service.PageItem.
func (b SessionBody) Place() (id string, order int64) { return b.ID, int64(b.StartedAt) }

// SessionHead is the part of a session before its lists.
type SessionHead struct {
	wire.Session
	Hostname string `json:"hostname"`
	Platform string `json:"platform"`
}

// SessionEvent is an entry without text.
type SessionEvent struct {
	ID        string          `json:"id"`
	Timestamp int64           `json:"timestamp"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data,omitempty"`
	Sequence  uint64          `json:"sequence"`
	TaskID    string          `json:"taskId,omitempty"`
}

// Parts returns a session in parts, because its timeline may exceed the memory for answers.
func (b SessionBody) Parts() (head any, names []string, members []any) {
	return b.SessionHead, []string{"events", "timeline"}, []any{b.Events, b.Timeline}
}

// spawnedMetadata is the metadata that older clients find on a spawned session.
type spawnedMetadata struct {
	Skills      []string        `json:"skills"`
	SpawnedBy   *string         `json:"spawnedBy"`
	SpawnSource string          `json:"spawnSource"`
	Role        events.Role     `json:"role"`
	Strategy    events.Strategy `json:"strategy"`
	Context     json.RawMessage `json:"context"`
}

func (s *compat) sessionReads() {
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/sessions",
		Name:    "session-list",
		Summary: "The sessions that the caller may see, in order of creation",
	}, s.listSessions)
	route.ReadThen(s.server.Server, route.Route{
		Path:    "/api/sessions/{id}",
		Name:    "session-info",
		Summary: "A session",
	}, s.getSession)
}

func (s *compat) listSessions(
	v service.View, in *wire.SessionFilter,
) (func() (service.List[SessionBody], error), error) {
	found, err := v.ListSessions(in)
	return func() (service.List[SessionBody], error) {
		list, err := found()
		return service.List[SessionBody]{Items: func(yield func(SessionBody) bool) {
			for x := range list.Items {
				if !yield(s.body(x, v.Caller, 0)) {
					return
				}
			}
		}}, err
	}, err
}

func (s *compat) getSession(v service.View, in *wire.SessionID) (func() SessionBody, error) {
	x, err := v.GetSession(in)
	return func() SessionBody { return s.body(x, v.Caller, 0) }, err
}

// body shows a session with at most limit entries of either sort; all if limit is 0.
func (s *compat) body(x service.ShownSession, c *service.Caller, limit int) SessionBody {
	view := x.SeenBy(c)
	view.Strategy = strategyFor(c, x.Session)
	if x.Session.Spawned {
		var given json.RawMessage
		if c.ReadsContext(x.Session) {
			given = x.Session.Context
		}
		view.Metadata, view.Env = s.spawnedExtras(x.Session, given, view.Strategy, view.Env, c.ServerURL())
	}
	return SessionBody{
		SessionHead: SessionHead{Session: view, Hostname: s.Hostname, Platform: s.Platform},
		Events:      eventsOf(x.Entries(limit, true)),
		Timeline:    entriesOf(x.Entries(limit, false)),
	}
}

// strategyFor returns a session's strategy under the name that the caller knows. Older clients start each orchestrator
// with the strategy simple, which the log calls default.
func strategyFor(c *service.Caller, x *projections.Session) events.Strategy {
	if !c.Program && x.Strategy == events.StrategyDefault {
		return events.StrategySimple
	}
	return x.Strategy
}

// entriesOf returns entries with the types that older clients know: they always see a task that was taken from a
// session as completed.
func entriesOf(entries service.List[wire.Entry]) service.List[wire.Entry] {
	return service.List[wire.Entry]{Items: func(yield func(wire.Entry) bool) {
		for e := range entries.Items {
			if e.Type == projections.TypeUnlinked {
				e.Type = "task_completed"
			}
			if !yield(e) {
				return
			}
		}
	}}
}

// eventsOf returns entries without text as events.
func eventsOf(bare service.List[wire.Entry]) service.List[SessionEvent] {
	return service.List[SessionEvent]{Items: func(yield func(SessionEvent) bool) {
		for e := range bare.Items {
			if string(e.Data) == "null" {
				e.Data = nil
			}
			event := SessionEvent{
				ID:        e.ID,
				Timestamp: int64(e.Timestamp),
				Type:      e.Type,
				Data:      e.Data,
				Sequence:  e.Sequence,
				TaskID:    e.TaskID,
			}
			if !yield(event) {
				return
			}
		}
	}}
}

// spawnedExtras returns what older clients expect of a spawned session and the log lacks: its metadata, and information
// for the session besides the environment that is shown. given is its context, as far as it is shown.
func (s *compat) spawnedExtras(
	x *projections.Session, given json.RawMessage, strategy events.Strategy, shown map[string]string, url string,
) (json.RawMessage, map[string]string) {
	metadata := spawnedMetadata{
		Skills:      x.Skills,
		SpawnSource: "ui",
		Role:        x.Role,
		Strategy:    strategy,
		Context:     given,
	}
	if metadata.Skills == nil {
		metadata.Skills = []string{}
	}
	if len(metadata.Context) == 0 {
		metadata.Context = json.RawMessage("{}")
	}
	if x.SpawnedBy != "" {
		metadata.SpawnSource, metadata.SpawnedBy = "session", &x.SpawnedBy
	}
	manifest := ""
	if s.Manifests != nil && x.ManifestDigest != "" {
		manifest = s.Manifests.ManifestPath(x.ID)
	}
	env := maps.Clone(shown)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, wire.Environment(url, x.ProjectID, x.ID, strategy, manifest)) // nobody replaces Maestro's own
	encoded, err := json.Marshal(metadata)
	if err != nil {
		// Context was valid JSON when it was received.
		encoded = nil
	}
	return encoded, env
}
