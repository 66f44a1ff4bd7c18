package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"maestro/api/compat"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
)

// TestAnswerInPartsIsIdentical: an answer rendered in parts equals, byte for byte, the one rendered as a whole.
func TestAnswerInPartsIsIdentical(t *testing.T) {
	long := "<&>\u2028" + strings.Repeat("x", 50_000)
	entry := projections.EntryView{ID: "evt_1", Message: long, Data: json.RawMessage(`{"a":1}`)}
	event := compat.SessionEvent{ID: "evt_2", Type: "file_modified", Data: json.RawMessage(`{}`)}
	view := projections.SessionView{
		ID:      "s",
		Env:     map[string]string{"A": "<b>"},
		Status:  events.SessionRunning,
		TaskIDs: []string{},
	}
	type plain struct {
		projections.SessionView
		Hostname string                  `json:"hostname"`
		Platform string                  `json:"platform"`
		Events   []compat.SessionEvent   `json:"events"`
		Timeline []projections.EntryView `json:"timeline"`
	}
	lazily := func(entries []projections.EntryView, events []compat.SessionEvent) compat.SessionBody {
		said := service.List[projections.EntryView]{Items: slices.Values(entries)}
		return compat.SessionBody{
			SessionHead: compat.SessionHead{Session: view, Hostname: "h", Platform: "p"},
			Events:      service.List[compat.SessionEvent]{Items: slices.Values(events)},
			Timeline:    said,
		}
	}
	many := slices.Repeat([]projections.EntryView{entry}, 20)
	two := []compat.SessionEvent{event, event}
	full := plain{view, "h", "p", two, many}
	empty := plain{view, "h", "p", []compat.SessionEvent{}, []projections.EntryView{}}
	for name, c := range map[string]struct{ parts, whole any }{
		"a session":      {lazily(many, two), full},
		"an empty one":   {lazily(nil, nil), empty},
		"a list":         {service.List[projections.EntryView]{Items: slices.Values(many)}, many},
		"lists in lists": {[]compat.SessionBody{lazily(many, two), lazily(nil, nil)}, []plain{full, empty}},
		"none":           {[]string(nil), []string(nil)},
		"empty":          {[]string{}, []string{}},
		"bytes":          {json.RawMessage(`{"x":1}`), json.RawMessage(`{"x":1}`)},
		"a value":        {entry, entry},
		"a pointer":      {&entry, &entry},
		"within another": {struct{ Session compat.SessionBody }{lazily([]projections.EntryView{{ID: "e"}}, nil)}, nil},
	} {
		var want, got bytes.Buffer
		plainly := json.NewEncoder(&want)
		plainly.SetEscapeHTML(false)
		if c.whole == nil {
			c.whole = c.parts
		}
		if err := plainly.Encode(c.whole); err != nil {
			t.Fatal(err)
		}
		longest := 0
		e := newEncoder()
		e.send = func(b []byte) error { longest = max(longest, len(b)); got.Write(b); return nil }
		if err := e.value(c.parts); err != nil {
			t.Fatal(err)
		}
		e.buffer.WriteByte('\n')
		if err := e.sendAll(); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: %.300s\nis not %.300s", name, got.String(), want.String())
		}
		if longest > 2*sendEvery {
			t.Errorf("%s: a part of %d bytes", name, longest)
		}
	}
}
