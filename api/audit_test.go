package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"maestro/api/export"
	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/service/wire"
)

// history creates a log with many kinds of events, and returns its two projects.
func (w *world) history() (mine, other string) {
	w.Helper()
	mine, other = w.project(), w.project()
	task := w.task(mine)
	w.task(other)
	_, worker := w.session(adminToken, mine, task, ``)
	w.do(worker, "session:register", `{}`).is(200)
	w.do(worker, "report:progress", `{"message":"<&> \u2028 äöü","taskIds":["`+task+`"]}`).is(200)
	w.do(worker, "report:complete", `{"message":"done"}`).is(200)
	w.do(adminToken, "task:complete", `{"taskId":"`+task+`"}`).is(200)
	return mine, other
}

func (w *world) export(query string) []byte {
	w.Helper()
	return w.send(http.MethodGet, "/api/audit/export"+query, adminToken, "").is(200).body
}

// judge returns the verdict on an export, as its faults.
func judge(t *testing.T, file []byte, from *events.Head) engine.Verdict {
	t.Helper()
	verdict, err := export.VerifyExport(bytes.NewReader(file), from)
	if err != nil {
		t.Fatal(err)
	}
	return verdict.Verdict
}

func expectFault(t *testing.T, verdict engine.Verdict, what string) {
	t.Helper()
	for _, fault := range verdict.Faults {
		if strings.Contains(fault.What, what) {
			return
		}
	}
	t.Errorf("no fault with %q: %+v", what, verdict.Faults)
}

func TestExportVerifies(t *testing.T) {
	w := open(t, nil)
	mine, _ := w.history()
	whole := w.export("")
	head := w.head()
	verdict := judge(t, whole, &head)
	if len(verdict.Faults) > 0 || verdict.Head != head || verdict.Decided != head.Sequence ||
		verdict.Views != events.BodyHash([]byte(w.views())) {
		t.Errorf("a whole export: %+v", verdict)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	if end, err := export.ReadEnd(lines[len(lines)-1]); err != nil || end.Head != head || end.Texts != nil {
		t.Errorf("the last line is %s: %v", lines[len(lines)-1], err)
	}
	for i, text := range lines[:len(lines)-1] {
		line, err := export.ReadLine(text)
		if err != nil || !bytes.Equal(line.Body(), w.log.messages[i].Body) ||
			line.Subject != w.log.messages[i].Subject {
			t.Fatalf("line %d: %v", i, err)
		}
	}

	part := w.export("?project=" + mine)
	if strings.Count(string(part), "bodyhash") != 2 || bytes.Equal(part, whole) {
		t.Errorf("a single project's export:\n%s", part)
	}
	verdict = judge(t, part, &head)
	if len(verdict.Faults) > 0 || verdict.Withheld != 2 || verdict.Head != head {
		t.Errorf("a single project's export: %+v", verdict)
	}
	expectFault(t, judge(t, w.export("?from=3"), nil), "begins at sequence 3")
	expectFault(t, judge(t, w.export("?to=4"), &head), "ends at 4")
	if got := bytes.Count(w.export("?from=3&to=5"), []byte("\n")); got != 4 {
		t.Errorf("from 3 to 5 are %d lines, with the last one", got)
	}
	if got := w.export("?from=99"); len(got) != 0 {
		t.Errorf("after the head is %s", got)
	}
	for _, wrong := range []string{"1", "TRUE", "yes"} {
		w.send(http.MethodGet, "/api/audit/export?texts="+wrong, adminToken, "").refused(400, "VALIDATION_ERROR",
			"texts is true or false")
		for _, name := range []string{"active", "living", "brief"} {
			w.send(http.MethodGet, "/api/sessions?"+name+"="+wrong, adminToken, "").refused(400,
				"VALIDATION_ERROR", name)
		}
	}
	w.send(http.MethodGet, "/api/audit/export?from=x", adminToken, "").refused(400, "VALIDATION_ERROR", "from")
}

func (w *world) head() events.Head {
	w.Helper()
	r := w.send(http.MethodGet, "/api/audit/head", adminToken, "").is(200)
	hash, err := events.ParseHash(r.text("hash"))
	if err != nil {
		w.Fatal(err)
	}
	return events.Head{Sequence: w.log.head(), Hash: hash}
}

func TestExportRevealsTampering(t *testing.T) {
	w := open(t, nil)
	mine, _ := w.history()
	for name, file := range map[string][]byte{"whole": w.export(""), "one project's": w.export("?project=" + mine)} {
		head := w.head()
		lines := func() [][]byte { return bytes.SplitAfter(bytes.Clone(file), []byte("\n")) }
		for at := range len(lines()) - 1 {
			altered := lines()
			i := bytes.Index(altered[at], []byte(`hash":"`)) + len(`hash":"`)
			altered[at][i] ^= 1
			if verdict := judge(t, bytes.Join(altered, nil), &head); len(verdict.Faults) == 0 {
				t.Errorf("%s: an altered hash in line %d goes unnoticed", name, at+1)
			}
			missing := slices.Delete(lines(), at, at+1)
			if export.IsEnd(lines()[at]) { // as earlier versions wrote it
				if verdict := judge(t, bytes.Join(missing, nil), &head); len(verdict.Faults) > 0 {
					t.Errorf("%s: without its last line: %+v", name, verdict)
				}
			} else if verdict := judge(t, bytes.Join(missing, nil), &head); len(verdict.Faults) == 0 {
				t.Errorf("%s: the omission of line %d goes unnoticed", name, at+1)
			}
			if at > 0 {
				swapped := lines()
				swapped[at-1], swapped[at] = swapped[at], swapped[at-1]
				if verdict := judge(t, bytes.Join(swapped, nil), &head); len(verdict.Faults) == 0 {
					t.Errorf("%s: swapped lines %d and %d go unnoticed", name, at, at+1)
				}
			}
		}
		altered := bytes.Replace(file, []byte("done"), []byte("gone"), 1)
		if bytes.Equal(altered, file) {
			t.Fatalf("%s: nothing to alter", name)
		}
		expectFault(t, judge(t, altered, &head), "its message hashes to")
		last := lines()
		cut := bytes.Join(slices.Delete(last, len(last)-3, len(last)-2), nil)
		expectFault(t, judge(t, cut, nil), "it says that the log ended at "+head.String())
		expectFault(t, judge(t, file[:len(file)/2], nil), "not a line")
		twice := bytes.Replace(file, []byte(`"event":`), []byte(`"event":{"forged":1},"event":`), 1)
		expectFault(t, judge(t, twice, nil), "in another form")
		own := bytes.LastIndex(file, []byte(`"subject":"maestro.ev.proj_`)) + len(`"subject":"maestro.ev.proj_`)
		elsewhere := bytes.Clone(file)
		elsewhere[own] ^= 1
		expectFault(t, judge(t, elsewhere, nil), "it is stored under the subject")
		other := head
		other.Hash[0] ^= 1
		expectFault(t, judge(t, file, &other), "the witness saw")
		expectFault(t, judge(t, nil, &head), "the export ends at 0")
	}
	expectFault(t, judge(t, []byte("hello\n"), nil), "not a line")
	expectFault(t, judge(t, bytes.Repeat([]byte("x"), 3<<20), nil), "longer than any event")
	if _, err := export.ReadLine([]byte(`{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `"}`)); err == nil {
		t.Error("a line without a body was read")
	}
}

// forge appends an event that fits the chain but was never permitted.
func forge(t *testing.T, log *memoryLog, data events.Data, project, source string) {
	t.Helper()
	last, err := events.Decode(log.messages[len(log.messages)-1].Body)
	if err != nil {
		t.Fatal(err)
	}
	event := events.Event{
		ID:       uuid.New(),
		Source:   source,
		Time:     last.Time.Add(time.Second),
		Project:  project,
		Rules:    commands.RulesVersion,
		Authn:    "token",
		Data:     data,
		PrevHash: events.Next(last.PrevHash, events.BodyHash(log.messages[len(log.messages)-1].Body)),
	}
	body, err := event.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	kind, id := data.Aggregate()
	log.messages = append(log.messages, events.Message{
		Sequence: uint64(len(log.messages)) + 1,
		Subject:  events.Subject(project, kind, id),
		Body:     body,
	})
}

func TestForgedEventIsFound(t *testing.T) {
	w := open(t, nil)
	mine, _ := w.history()
	task := w.task(mine)
	session, _ := w.session(adminToken, mine, task, ``)
	forge(t, w.log, &events.TaskStatusChanged{
		TaskID: task,
		From:   events.TaskInProgress,
		To:     events.TaskCompleted,
	}, mine, "/projects/"+mine+"/sessions/"+session)

	// A server that starts on this log accepts the event; the audit does not.
	handler, err := engine.Open(t.Context(), engine.Config{Log: w.log, Now: time.Now, After: time.After})
	if err != nil {
		t.Fatal(err)
	}
	defer handler.Close()
	forged := open(t, func(c *setup) { c.Handler, c.Log, c.Blobs = handler, w.log, w.blobs })
	r := forged.send(http.MethodGet, "/api/audit/verify", adminToken, "").is(200)
	if faults, _ := r.at("faults").([]any); len(faults) != 1 ||
		!strings.Contains(string(r.body), "task:complete was not permitted") {
		t.Errorf("the server's audit: %s", r.body)
	}
	expectFault(t, judge(t, forged.export(""), nil), "task:complete was not permitted")

	// Without the manifests of both sessions there are two more faults.
	clear(w.blobs.blobs)
	r = forged.send(http.MethodGet, "/api/audit/verify", adminToken, "").is(200)
	if faults, _ := r.at("faults").([]any); len(faults) != 3 ||
		!strings.Contains(string(r.body), `"rule":"text","what":"its manifestDigest, sha256-`) {
		t.Errorf("the audit without the manifest: %s", r.body)
	}
	lost := forged.send(http.MethodGet, "/api/audit/texts", adminToken, "").is(200)
	if lost.at("named") != 2.0 || !strings.Contains(string(lost.body), `"field":"manifestDigest"`) {
		t.Errorf("the texts: %s", lost.body)
	}
}

func TestServerAudit(t *testing.T) {
	w := open(t, func(c *setup) { c.Backup = noBackup })
	w.history()
	good := w.send(http.MethodGet, "/api/audit/verify", adminToken, "").is(200)
	if faults, _ := good.at("faults").([]any); len(faults) != 0 || good.at("decided") != float64(w.log.head()) {
		t.Errorf("a good log: %s", good.body)
	}
	early := events.Head{Sequence: 2}
	if err := w.log.Read(t.Context(), 3, 3, func(m events.Message) error {
		e, err := events.Decode(m.Body)
		early.Hash = e.PrevHash
		return err
	}); err != nil {
		t.Fatal(err)
	}
	audit := func(from string) string {
		return string(w.send(http.MethodGet, "/api/audit/verify?from="+from, adminToken, "").is(200).body)
	}
	if got := audit(early.String()); !strings.Contains(got, `"faults":[]`) {
		t.Errorf("with a witness: %s", got)
	}
	late := events.Head{Sequence: 1000, Hash: early.Hash}
	if got := audit(late.String()); !strings.Contains(got, "the log ends here, before your head 1000:") ||
		!strings.Contains(got, `"next":"check that it is a head of this home`) {
		t.Errorf("a log that lost its end: %s", got)
	}
	early.Hash[0] ^= 1
	if got := audit(early.String()); !strings.Contains(got, "your head has hash") {
		t.Errorf("another log: %s", got)
	}
	for _, from := range []string{"x", "1", "0:" + early.Hash.String(), "1:zz"} {
		w.send(http.MethodGet, "/api/audit/verify?from="+from, adminToken, "").refused(400, "VALIDATION_ERROR", "from")
	}

	// The server does not act on a head that a caller supplies.
	w.send(http.MethodGet, "/readyz", "", "").is(200)

	// The disk has something other than what the server acknowledged.
	w.log.mu.Lock()
	w.log.messages[6].Body = bytes.Replace(w.log.messages[6].Body, []byte("äöü"), []byte("äöö"), 1)
	w.log.mu.Unlock()
	if got := audit(""); !strings.Contains(got, `"faults":[{`) || strings.Contains(got, `"rule":"views"`) ||
		strings.Contains(got, "snapshots") {
		t.Errorf("an altered byte, whose views cannot be compared: %s", got)
	}
	// From then on, the server accepts no writes.
	w.send(http.MethodGet, "/readyz", "", "").is(503)
	w.send(http.MethodGet, "/api/audit/export", adminToken, "").refused(503, "LOG_DAMAGED", "")
	w.send(http.MethodGet, "/api/backup", adminToken, "").refused(503, "LOG_DAMAGED", "")
	if notice := w.send(http.MethodGet, "/api/status", adminToken, "").header.Get(wire.HeaderDamage); !strings.Contains(
		notice, "the log is damaged at event") {
		t.Errorf("a reader of a damaged log is told %q", notice)
	}
	refused := w.do(adminToken, "project:create", `{"name":"After the damage"}`).is(503)
	if next, _ := refused.at("next").(string); !strings.Contains(next, "maestro salvage") {
		t.Errorf("a refused write says what to do next: %q", next)
	}
}

func TestBackup(t *testing.T) {
	w := open(t, func(c *setup) { c.Backup = noBackup })
	w.history()
	r := w.send(http.MethodGet, "/api/backup", adminToken, "").is(200)
	if string(r.body) != w.head().String() || r.header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("a backup: %s", r.body)
	}
	open(t, nil).send(http.MethodGet, "/api/backup", adminToken, "").refused(503, "READ_ONLY", "")
}

// TestExportKeepsEveryBody: an export has every body byte for byte, even one that is not JSON or has a line break.
func TestExportKeepsEveryBody(t *testing.T) {
	for _, body := range []string{`{"a":"<&>\u2028"}`, "{\n}", "not JSON", "", "\xff\x00", `"text"`} {
		m := events.Message{Sequence: 7, Subject: "maestro.ev.p.task.t", Body: []byte(body)}
		text := export.Append(nil, m, events.Hash{1})
		if bytes.Count(text, []byte("\n")) != 1 {
			t.Errorf("%q is more than a line: %q", body, text)
		}
		line, err := export.ReadLine(text)
		if err != nil || string(line.Body()) != body || line.Sequence != 7 || line.Subject != m.Subject ||
			line.Hash != (events.Hash{1}) {
			t.Errorf("%q came back as %q: %v", body, line.Body(), err)
		}
	}
}
