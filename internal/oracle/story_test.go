package oracle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sources that the stories use.
const (
	admin  = "/users/admin"
	system = "/system"
	orch   = "/projects/p1/sessions/orch"
	work   = "/projects/p1/sessions/work"
	pull   = "/projects/p1/sessions/pull"
)

// instant is the form of times in events.
const instant = "2006-01-02T15:04:05.000Z"

// story writes a log by hand: well-formed, chained events, one line each. It does not check whether they are permitted.
type story struct {
	notices int // how many notices were sent
	t       *testing.T
	// rules is the version of the rules for the next event.
	rules string
	lines []map[string]any
	// bodies are the events of the lines, byte for byte.
	bodies [][]byte
	hashes [][]byte
	now    time.Time
	roots  map[string]string
	// births are the events that created the sessions: the causes of everything that these do.
	births map[string]string
	// born are their times.
	born map[string]time.Time
	// last is the id of the newest event.
	last string
}

func newStory(t *testing.T) *story {
	t.Helper()
	return &story{
		t:      t,
		rules:  "7",
		now:    time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		roots:  map[string]string{},
		births: map[string]string{},
		born:   map[string]time.Time{},
	}
}

// option changes an event's attributes before it is written; a nil value removes one.
type option func(map[string]any)

func with(attribute string, value any) option {
	return func(e map[string]any) {
		e[attribute] = value
		if value == nil {
			delete(e, attribute)
		}
	}
}

// without removes the cause from a session's event.
func without() option {
	return func(e map[string]any) { delete(e, "causationid"); delete(e, "correlationid") }
}

func (s *story) because(cause string) option {
	return func(e map[string]any) { e["causationid"], e["correlationid"] = cause, s.roots[cause] }
}

// add writes an event of project p1, a second after the one before it.
func (s *story) add(source, short, data string, options ...option) *story {
	s.t.Helper()
	data = s.withNotice(source, short, data)
	s.now = s.now.Add(time.Second)
	eventType := "maestro." + short + ".v1"
	e := map[string]any{
		"specversion": "1.0", "id": fmt.Sprintf("event-%d", len(s.lines)+1), "source": source, "type": eventType,
		"subject": s.subject(short, data), "time": s.now.Format(instant),
		"datacontenttype": "application/json", "dataschema": "urn:maestro:schema:" + eventType, "partitionkey": "p1",
		"prevhash": hex.EncodeToString(s.head()), "requesthash": strings.Repeat("0a", 16),
		"rules": s.rules, "authn": "token",
		"data": json.RawMessage(data),
	}
	if noun, _, _ := strings.Cut(short, "."); slices.Contains([]string{"token", "template", "text", "webhook"}, noun) {
		delete(e, "partitionkey")
	}
	if parts := strings.Split(source, "/"); len(parts) == 5 && s.births[parts[4]] != "" {
		s.because(s.births[parts[4]])(e)
	}
	for _, o := range options {
		o(e)
	}
	s.remember(short, e)
	body, err := json.Marshal(e)
	if err != nil {
		s.t.Fatal(err)
	}
	s.append(e, body)
	return s
}

// withNotice adds the notice to an event that ends work on a task, unless it has one. To leave it out, write null.
func (s *story) withNotice(source, short, data string) string {
	s.t.Helper()
	var of struct {
		taskDeleted
		To     string `json:"to"`
		Status *move  `json:"status"`
	}
	ends := short == "task.deleted" || strings.Contains(data, `"to":"completed"`)
	if !ends || s.rules != "7" || strings.Contains(data, `"notice":`) || json.Unmarshal([]byte(data), &of) != nil {
		return data
	}
	j := New()
	for _, l := range bytes.Split(bytes.TrimSpace(s.export()), []byte("\n")) {
		if j.Line(l) != nil {
			return data
		}
	}
	c := &trial{
		Judge: j,
		by:    parseSource(source),
		event: &event{Source: source, Rules: "7"},
	}
	told := c.affected(true, of.tasks(c)...)
	if told == nil {
		return data
	}
	s.notices++
	notice, err := json.Marshal(notice{MailID: fmt.Sprintf("notice-%d", s.notices), SessionIDs: told})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSuffix(data, "}") + `,"notice":` + string(notice) + "}"
}

// by sets the version of the rules for the following events.
func (s *story) by(rules string) *story { s.rules = rules; return s }

// allBy rewrites the story with an earlier version of the rules, and continues with that version.
func (s *story) allBy(rules string) *story {
	s.t.Helper()
	told := s.bodies
	s.lines, s.bodies, s.hashes = nil, nil, nil
	for _, body := range told {
		var e map[string]any
		var raw struct{ Data json.RawMessage }
		if err := errors.Join(json.Unmarshal(body, &e), json.Unmarshal(body, &raw)); err != nil {
			s.t.Fatal(err)
		}
		for _, letter := range []string{"W", "Q", "T", "O"} { // the default permissions of that version
			raw.Data = bytes.ReplaceAll(raw.Data, []byte(byDefault(letter)), []byte(formerDefault(letter)))
		}
		e["rules"], e["prevhash"], e["data"] = rules, hex.EncodeToString(s.head()), raw.Data
		written, err := json.Marshal(e)
		if err != nil {
			s.t.Fatal(err)
		}
		s.append(e, written)
	}
	return s.by(rules)
}

func (s *story) head() []byte {
	if len(s.hashes) == 0 {
		return make([]byte, sha256.Size)
	}
	return s.hashes[len(s.hashes)-1]
}

func (s *story) remember(short string, e map[string]any) {
	s.last = e["id"].(string)
	s.roots[s.last] = s.last
	if root, ok := e["correlationid"].(string); ok {
		s.roots[s.last] = root
	}
	if short == "session.spawned" || short == "session.registered" {
		id := strings.TrimPrefix(e["subject"].(string), "session/")
		if s.births[id] == "" {
			s.births[id], s.born[id] = s.last, s.now
		}
	}
}

func (s *story) append(e map[string]any, body []byte) {
	sum := sha256.Sum256(body)
	behind := sha256.Sum256(append(append([]byte(nil), s.head()...), sum[:]...))
	project, _ := e["partitionkey"].(string)
	kind, id, _ := strings.Cut(e["subject"].(string), "/")
	s.lines = append(s.lines, map[string]any{
		"sequence": len(s.lines) + 1, "hash": hex.EncodeToString(behind[:]), "event": json.RawMessage(body),
		"subject": "maestro.ev." + cmp.Or(project, "=") + "." + kind + "." + cmp.Or(id, "="),
	})
	s.bodies = append(s.bodies, body)
	s.hashes = append(s.hashes, behind[:])
}

// subject returns an event's subject, from its data.
func (s *story) subject(short, data string) string {
	kind, _, _ := strings.Cut(short, ".")
	var fields map[string]any
	if err := json.Unmarshal([]byte(data), &fields); err != nil {
		s.t.Fatalf("%s: %s", data, err)
	}
	member := map[string]string{
		"project": "projectId", "task": "taskId", "session": "sessionId", "queue": "queue",
		"input": "inputId", "token": "name", "template": "templateId", "text": "text", "webhook": "webhookId",
	}[kind]
	if kind == "sandbox" || kind == "preflight" { // of a session's agent
		kind, member = "session", "sessionId"
	}
	if fields[member] == nil && kind == "token" {
		kind, member = "session", "sessionId"
	}
	id, _ := fields[member].(string)
	return kind + "/" + id
}

// wait lets time pass.
func (s *story) wait(d time.Duration) *story { s.now = s.now.Add(d); return s }

// milli returns the story's time minus ago, in milliseconds since 1970.
func (s *story) milli(ago time.Duration) int64 { return s.now.Add(-ago).UnixMilli() }

// tamper changes the newest line.
func (s *story) tamper(change func(line map[string]any)) *story {
	change(s.lines[len(s.lines)-1])
	return s
}

// withhold replaces a line's body with its hash.
func (s *story) withhold(sequence int) *story {
	sum := sha256.Sum256(s.bodies[sequence-1])
	prev := make([]byte, sha256.Size)
	if sequence > 1 {
		prev = s.hashes[sequence-2]
	}
	s.lines[sequence-1] = map[string]any{
		"sequence": sequence, "hash": hex.EncodeToString(s.hashes[sequence-1]),
		"prevhash": hex.EncodeToString(prev), "bodyhash": hex.EncodeToString(sum[:]),
	}
	return s
}

// export returns the log as a file.
func (s *story) export() []byte {
	var b bytes.Buffer
	for _, line := range s.lines {
		text, err := json.Marshal(maps.Clone(line))
		if err != nil {
			s.t.Fatal(err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (s *story) verdict() Verdict {
	s.t.Helper()
	v, err := Read(bytes.NewReader(s.export()))
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// list returns a session's permissions as JSON.
func list(explicit bool, commands ...string) string {
	text, _ := json.Marshal(map[string]any{"commands": commands, "explicit": explicit})
	return `"permissions":` + string(text)
}

// byDefault returns the default permissions of a letter.
func byDefault(letter string) string { return list(false, defaultList(letter)...) }

// formerDefault is byDefault before the third version of the rules. Then, only an orchestrator sent messages, nobody
// waited for mail, no row was about reading templates and manifests, and an orchestrator got the planned commands.
func formerDefault(letter string) string {
	own := slices.DeleteFunc(defaultList(letter), func(id string) bool {
		switch id {
		case "input:wait", "manifest:show", "manifest:schema", "template:list", "template:get", "watch", "events",
			"session:resume":
			return true
		}
		return id == "session:message" && letter != "O"
	})
	if letter == "O" {
		own = append(own, "session:resume", "watch", "events")
	}
	return list(false, own...)
}

// byDefault returns the default permissions of a letter by the rules of the story.
func (s *story) byDefault(letter string) string {
	if s.rules == "7" {
		return byDefault(letter)
	}
	return formerDefault(letter)
}

// only returns the permissions of an explicit list.
func only(letter string, commands ...string) string {
	return list(true, append(coreList(letter), commands...)...)
}

// task lets the admin create a task.
func (s *story) task(id, more string) *story {
	s.t.Helper()
	return s.add(admin, "task.created", `{"taskId":"`+id+`","title":"Do `+id+`","priority":"medium"`+more+`}`)
}

// spawn lets the admin spawn a session.
func (s *story) spawn(id, more string, options ...option) *story {
	s.t.Helper()
	return s.add(admin, "session.spawned", `{"sessionId":"`+id+`","name":"`+id+`",`+more+`}`, options...)
}

// puller spawns a session that pulls from a queue.
func (s *story) puller(id, queue string) *story {
	s.t.Helper()
	return s.spawn(id, `"role":"worker","strategy":"queue","queue":"`+queue+`",`+byDefault("Q"))
}

// base is the story before each plant: an orchestrator with task a, its worker with task b, and a session that pulls c,
// e, f and g from its own queue; c waits for b. Task d is below b.
func base(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.add(admin, "project.created", `{"projectId":"p1","name":"One"}`)
	s.add(admin, "project.created", `{"projectId":"p2","name":"Two"}`, with("partitionkey", "p2"))
	s.task("a", "").task("b", "").task("c", `,"dependencies":["b"]`).task("d", `,"parentId":"b"`)
	s.task("e", "").task("f", "").task("g", "").task("free", "")
	s.add(admin, "task.created", `{"taskId":"other","title":"Other","priority":"low"}`, with("partitionkey", "p2"))
	s.spawn("orch", `"role":"orchestrator","strategy":"default","taskIds":["a"],"started":["a"],`+byDefault("O"))
	s.add(
		orch,
		"session.spawned",
		`{"sessionId":"work","name":"w","role":"worker","strategy":"simple","taskIds":["b"],"started":["b"],`+
			`"spawnedBy":"orch",`+byDefault("W")+`}`,
	)
	s.spawn("pull", `"role":"worker","strategy":"queue","taskIds":["c","e","f","g"],"unmetDependencies":["b"],`+
		`"queue":"pull","queued":["c","e","f","g"],"timeout":3600000,`+byDefault("Q"))
	return s
}

// start lets a session start an item.
func (s *story) start(source, queue, task string, attempt, over int) *story {
	s.t.Helper()
	id := source[strings.LastIndexByte(source, '/')+1:]
	return s.add(
		source,
		"queue.item_started",
		fmt.Sprintf(
			`{"queue":%q,"taskId":%q,"sessionId":%q,"attempt":%d,"passedOver":%d}`,
			queue,
			task,
			id,
			attempt,
			over,
		),
	)
}

// item adds any other event of a queue's item.
func (s *story) item(source, what, queue, task, session, more string) *story {
	s.t.Helper()
	return s.add(
		source,
		"queue.item_"+what,
		fmt.Sprintf(`{"queue":%q,"taskId":%q,"sessionId":%q%s}`, queue, task, session, more),
	)
}

func (s *story) report(source, kind, more string, options ...option) *story {
	s.t.Helper()
	id := source[strings.LastIndexByte(source, '/')+1:]
	return s.add(source, "session.reported", fmt.Sprintf(`{"sessionId":%q,"kind":%q,"message":"m"%s}`, id, kind, more),
		options...)
}

// late adds a late report that waited for some time.
func (s *story) late(source string, waited time.Duration, kind, more string, options ...option) *story {
	s.t.Helper()
	id := source[strings.LastIndexByte(source, '/')+1:]
	said := s.now.Add(time.Second - waited).Format(instant)
	return s.add(source, "session.reported", fmt.Sprintf(`{"sessionId":%q,"kind":%q,"message":"m","late":true%s}`, id,
		kind, more),
		append([]option{with("occurredat", said)}, options...)...)
}

// kept adds a late report from when its session was created, with a message of so many bytes.
func (s *story) kept(session, kind string, bytes int, more string) *story {
	s.t.Helper()
	data := fmt.Sprintf(`{"sessionId":%q,"kind":%q,"message":%q,"late":true%s}`, session, kind,
		strings.Repeat("m", bytes), more)
	return s.add(source(session), "session.reported", data, with("occurredat", s.born[session].Format(instant)))
}

func (s *story) status(source, task, from, to string) *story {
	s.t.Helper()
	forced := "" // d below b is open
	if task == "b" && to == "completed" {
		forced = `,"forced":true`
	}
	notice := ""
	if to == "blocked" {
		notice = s.notice(source, task)
	}
	return s.add(source, "task.status_changed",
		fmt.Sprintf(`{"taskId":%q,"from":%q,"to":%q%s%s}`, task, from, to, forced, notice))
}

// cancel cancels a task. The session that has it is notified.
func (s *story) cancel(source, task, from string) *story {
	s.t.Helper()
	return s.add(source, "task.updated",
		fmt.Sprintf(`{"taskId":%q,"status":{"from":%q,"to":"cancelled"}%s}`, task, from, s.notice(source, task)))
}

// notice returns the notice of a task's change for the session that has it.
func (s *story) notice(source, task string) string {
	has := s.told(source, map[string]string{"b": "work", "own": "work", "e": "pull"}[task])
	if has == "" {
		return ""
	}
	s.notices++
	return fmt.Sprintf(`,"notice":{"mailId":"notice-%d","sessionIds":[%s]}`, s.notices, has)
}

// told lists the sessions that are told of a change of a task that a session has: if the user makes the change, the
// orchestrator of "work" is told too.
func (s *story) told(source, has string) string {
	switch {
	case has == "":
		return ""
	case has == "work" && source == admin && s.rules == "7":
		return `"orch","work"`
	}
	return fmt.Sprintf("%q", has)
}

// reopen reopens a task of the session "work", which is notified with this mail.
func (s *story) reopen(source, task, from, mail string) *story {
	s.t.Helper()
	return s.add(source, "task.status_changed", fmt.Sprintf(
		`{"taskId":%q,"from":%q,"to":"in_progress","notice":{"mailId":%q,"sessionIds":[%s]}}`,
		task, from, mail, s.told(source, "work")))
}

func (s *story) kill(session string) *story {
	s.t.Helper()
	return s.add(admin, "session.killed", `{"sessionId":"`+session+`","status":"stopped"}`)
}

// lose marks a session as lost a minute after it was last heard.
func (s *story) lose(session string) *story {
	s.t.Helper()
	s.wait(time.Minute)
	return s.add(
		system,
		"session.lost",
		fmt.Sprintf(`{"sessionId":%q,"lastheard":%d,"lease":60000}`, session, s.milli(time.Minute)),
	)
}

func source(session string) string { return "/projects/p1/sessions/" + session }
