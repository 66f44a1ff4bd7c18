package compat

import (
	"iter"
	"net/http"
	"strconv"

	"maestro/api/route"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) queueReads() {
	route.Describe[lateQueue, SessionQueue](s.server.Table)
	route.Describe[lateItems, queueItems](s.server.Table)
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/sessions/{id}/queue",
		Name:    "session-queue",
		Summary: "The queue that a session pulls from",
	}, getSessionQueue)
	route.ReadThen(s.server.Server, route.Route{
		Path:    "/api/sessions/{id}/queue/top",
		Name:    "queue-top",
		Summary: "The next item that may be started",
	}, getSessionQueueTop)
}

func (s *compat) queueRoutes() {
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/sessions/{id}/queue/items",
		Name:    "session-queue-items",
		Summary: "The items of the queue that a session pulls from",
	}, getSessionQueueItems)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/start",
		Name:    "queue-start",
		Summary: "Start the next item",
	}}, s.startItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/complete",
		Name:    "queue-complete",
		Summary: "Complete the item that a session holds",
	}}, s.completeItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/fail",
		Name:    "queue-fail",
		Summary: "Fail the item that a session holds",
		Body:    failReason{},
	}, row: "queue:fail"}, s.failItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/skip",
		Name:    "queue-skip",
		Summary: "Skip the item that a session holds, or else the next one",
	}}, s.skipItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/push",
		Name:    "queue-push",
		Summary: "Push a task to the end of the queue",
		Body:    pushedTask{},
	}, row: "queue:push"}, s.pushItem)
}

// SessionQueue shows a session's queue to older clients. Our own clients read the [wire.SessionQueue] in it.
type SessionQueue struct {
	Queue SessionQueueBody       `json:"queue"`
	Stats projections.QueueStats `json:"stats"`
}

// SessionQueueBody is the queue that a session pulls from, with its items.
type SessionQueueBody struct {
	SessionQueueHead
	wire.SessionItems
	CurrentIndex int `json:"currentIndex"`
}

// SessionQueueHead is the part of a session's queue before its items.
type SessionQueueHead struct {
	SessionID    string          `json:"sessionId"`
	Strategy     events.Strategy `json:"strategy"`
	CreatedAt    int64           `json:"createdAt"`
	UpdatedAt    int64           `json:"updatedAt"`
	TrustReports bool            `json:"trustReports"`
	MaxAttempts  int             `json:"maxAttempts"`
	Ready        int             `json:"ready"`
	Waiting      int             `json:"waiting"`
}

// statsHead is the part before the items that are created while they are written.
type statsHead struct {
	Stats projections.QueueStats `json:"stats"`
}

// lateQueue is a [SessionQueue] whose items are created while they are written.
type lateQueue struct {
	service.ItemPage
	stats statsHead
	head  SessionQueueHead
	name  string
	// current is the index of the item that the session holds, -1 if there is none. It is known once the items are
	// written.
	current *lateIndex
}

// Parts returns a session's queue in parts.
func (q lateQueue) Parts() (head any, names []string, members []any) {
	return q.stats, []string{"queue"}, []any{lateQueueBody(q)}
}

// lateQueueBody is the [SessionQueueBody] of a queue.
type lateQueueBody lateQueue

// Parts returns the queue in parts.
func (q lateQueueBody) Parts() (head any, names []string, members []any) {
	names, members = q.Members()
	return struct {
		SessionQueueHead
		Name string `json:"name"`
	}{q.head, q.name}, append(names, "currentIndex"), append(members, q.current)
}

// lateIndex is a number that is known once everything before it is written.
type lateIndex struct{ at int }

// MarshalJSON implements json.Marshaler.
func (i *lateIndex) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(i.at), 10), nil
}

func getSessionQueue(v service.View, in *wire.SessionQueueOf) (func() (lateQueue, error), error) {
	x, q, err := sessionQueue(v, "queue:list", in.ID)
	if err != nil {
		return nil, err
	}
	items, err := v.ListItems(q, in.Status)
	if err != nil {
		return nil, err
	}
	shown := v.QueueView(q)
	return func() (lateQueue, error) {
		page, err := items()
		current := &lateIndex{-1}
		page.Items.Items = current.find(x.ID, page.Items.Items)
		return lateQueue{
			ItemPage: page,
			stats:    statsHead{q.Stats},
			head: SessionQueueHead{
				SessionID:    x.ID,
				Strategy:     x.Strategy,
				CreatedAt:    q.CreatedAt,
				UpdatedAt:    q.UpdatedAt,
				TrustReports: q.TrustReports,
				MaxAttempts:  q.MaxAttempts,
				Ready:        shown.Ready,
				Waiting:      shown.Waiting,
			},
			name:    q.Name,
			current: current,
		}, err
	}, nil
}

// find returns the items, and finds the one that a session holds while they are iterated.
func (i *lateIndex) find(session string, items iter.Seq[projections.ItemView]) iter.Seq[projections.ItemView] {
	return func(yield func(projections.ItemView) bool) {
		at := 0
		for item := range items {
			if item.Status == events.ItemProcessing && item.SessionID == session {
				i.at = at
			}
			at++
			if !yield(item) {
				return
			}
		}
	}
}

type queueItems struct {
	Items     []projections.ItemView `json:"items"`
	ItemsMore int                    `json:"itemsMore,omitempty"`
	Stats     projections.QueueStats `json:"stats"`
}

// lateItems are [queueItems] that are created while they are written.
type lateItems struct {
	service.ItemPage
	stats statsHead
}

// Parts returns the items in parts.
func (q lateItems) Parts() (head any, names []string, members []any) {
	names, members = q.Members()
	return q.stats, names, members
}

func getSessionQueueItems(v service.View, in *wire.SessionID) (func() (lateItems, error), error) {
	_, q, err := sessionQueue(v, "queue:list", in.ID)
	if err != nil {
		return nil, err
	}
	items, err := v.ListItems(q, "")
	if err != nil {
		return nil, err
	}
	return func() (lateItems, error) {
		page, err := items()
		return lateItems{page, statsHead{q.Stats}}, err
	}, nil
}

func getSessionQueueTop(v service.View, in *wire.SessionID) (func() wire.QueueTop, error) {
	if _, _, err := sessionQueue(v, "queue:top", in.ID); err != nil {
		return nil, err
	}
	read, err := v.GetSessionQueueTop(in)
	if err != nil {
		return nil, err
	}
	program := v.Caller.Program
	return func() wire.QueueTop {
		top := read()
		if !program && top.Item == nil {
			top.Message = queueEmpty
			if top.Stats.Queued > top.Over {
				top.Message = queueWaits
			}
		}
		return top
	}, nil
}

// The messages to older clients about a queue in which nothing can be started now.
const (
	queueEmpty = "Queue is empty - all tasks processed"
	queueWaits = "Nothing can be started now: the queued items wait for other tasks"
)

// sessionQueue returns a session with the queue that it pulls from. A caller that needs no credential is told first
// what the session lacks: its own permissions are not in question.
func sessionQueue(v service.View, row, id string) (*projections.Session, *projections.Queue, error) {
	x := v.Session(id)
	if v.Caller.Anonymous && x != nil && x.Strategy != events.StrategyQueue {
		return nil, nil, service.OtherStrategy(id)
	}
	return v.SessionQueue(row, id)
}
