package demo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Evidence is the input of a judgement.
type Evidence struct {
	// Log is the output of `maestro audit export`.
	Log []byte
	// Acknowledged are the ids of the events that the participants' answers acknowledged.
	Acknowledged []string
	// Attempts are the ways in which a worker tried to become the user.
	Attempts []Attempt
	// Refusals is the output of `maestro audit denials`.
	Refusals []Refusal
}

// Refusal is a command that was refused.
type Refusal struct {
	Actor   string `json:"actor"`
	Command string `json:"command"`
	Code    string `json:"code"`
}

// Fact is a statement that must be true.
type Fact struct {
	Name string
	// Text states it in a sentence.
	Text string
	// Err says why it is not true.
	Err error
}

// killedWorkers and helpers are the numbers of workers that are killed, and that the orchestrator spawns.
const (
	killedWorkers = 3
	helpers       = 2
)

// verdict judges one fact.
type verdict struct {
	name  string
	judge func(h history, e Evidence) (text string, err error)
}

func verdicts() []verdict {
	return []verdict{
		{"fleet", judgeFleet},
		{"items", judgeItems},
		{"kill -9", judgeKilled},
		{"server", judgeOutage},
		{"question", judgeQuestion},
		{"message", judgeMessage},
		{"reopen", judgeReopen},
		{"refusal", judgeRefusal},
		{"boundary", judgeBoundary},
		{"orchestrator", judgeOrchestrator},
		{"confirmed", judgeConfirmed},
		{"nothing lost", judgeAcknowledged},
	}
}

// Judge determines for each promise of the demonstration whether the evidence shows it. Apart from the evidence it
// knows nothing about the run.
func Judge(e Evidence) []Fact {
	h, err := readHistory(e.Log)
	facts := make([]Fact, 0, len(verdicts()))
	for _, v := range verdicts() {
		fact := Fact{Name: v.name, Err: err}
		if err == nil {
			fact.Text, fact.Err = v.judge(h, e)
		}
		facts = append(facts, fact)
	}
	return facts
}

// judgeFleet: all workers pulled from one queue, and at one time all of them held an item.
func judgeFleet(h history, _ Evidence) (string, error) {
	pulled, queues := map[string]bool{}, map[string]bool{}
	held, most := map[string]bool{}, 0
	for _, e := range h {
		switch e.Type {
		case "queue.item_started":
			pulled[e.Data.SessionID], queues[e.Data.Queue] = true, true
			held[e.Data.TaskID] = true
		case "queue.item_completed", "queue.item_returned":
			delete(held, e.Data.TaskID)
		}
		most = max(most, len(held))
	}
	if len(pulled) != workers || len(queues) != 1 || most != workers {
		return "", fmt.Errorf("%d workers pulled from %d queues and held up to %d items at once, not %d from one",
			len(pulled), len(queues), most, workers)
	}
	return fmt.Sprintf("%d workers pulled from one queue, and each held an item at the same time", workers), nil
}

// judgeItems: each item was held by one session at a time, and completed once, by its holder.
func judgeItems(h history, _ Evidence) (string, error) {
	holder, completed := map[string]string{}, map[string]int{}
	pushed := map[string]bool{}
	for _, e := range h {
		task, session := e.Data.TaskID, e.Data.SessionID
		switch e.Type {
		case "queue.item_pushed":
			pushed[task] = true
		case "queue.item_started":
			if holder[task] != "" || completed[task] > 0 {
				return "", fmt.Errorf("%s was started by %s when it was held by %q and completed %d times",
					task, session, holder[task], completed[task])
			}
			holder[task] = session
		case "queue.item_returned":
			delete(holder, task)
		case "queue.item_completed":
			if holder[task] != session || !e.by(session) {
				return "", fmt.Errorf("%s was completed by %s, and was held by %q", task, session, holder[task])
			}
			delete(holder, task)
			completed[task]++
		}
	}
	for _, task := range slices.Sorted(maps.Keys(pushed)) {
		if completed[task] != 1 {
			return "", fmt.Errorf("%s was completed %d times", task, completed[task])
		}
	}
	if len(completed) != len(pushed) || len(pushed) == 0 {
		return "", fmt.Errorf("%d items were pushed, and %d completed", len(pushed), len(completed))
	}
	return fmt.Sprintf("each of %d items was held by one worker at a time and completed once", len(pushed)), nil
}

// judgeKilled: workers that SIGKILL ended held an item; it came back because they were gone, and another completed it.
func judgeKilled(h history, _ Evidence) (string, error) {
	var names []string
	for _, exit := range h.each("session.exited") {
		session := h[exit].Data.SessionID
		if h[exit].Data.Signal != "SIGKILL" && !strings.Contains(h[exit].Data.Reason, "supervisor") {
			continue
		}
		back := h.after(exit, "queue.item_returned", func(e *event) bool { return e.Data.SessionID == session })
		if back < 0 {
			return "", fmt.Errorf("%s was killed, and no item of its came back", h.nameOf(session))
		}
		task := h[back].Data.TaskID
		ofTask := func(e *event) bool { return e.Data.TaskID == task }
		started := h.after(-1, "queue.item_started", func(e *event) bool { return e.by(session) && ofTask(e) })
		again := h.after(back, "queue.item_started", ofTask)
		done := h.after(again, "queue.item_completed", ofTask)
		switch {
		case started < 0 || started > exit:
			return "", fmt.Errorf("%s was killed before it started %s", h.nameOf(session), task)
		case h[exit].Data.Status != "failed":
			return "", fmt.Errorf("%s was killed, and did not fail", h.nameOf(session))
		case again < 0 || done < 0 || h[done].Data.SessionID == session:
			return "", fmt.Errorf("%s held %s when it was killed, and no other completed it", h.nameOf(session), task)
		}
		names = append(names, h.nameOf(session))
	}
	if len(names) != killedWorkers {
		return "", fmt.Errorf("%d workers were killed in the middle of an item, not %d", len(names), killedWorkers)
	}
	slices.Sort(names)
	return listed(names) + " were killed in the middle of an item, and others finished it", nil
}

// judgeOutage: a report from a time without a server arrived, with its time, before the session's next report.
func judgeOutage(h history, _ Evidence) (string, error) {
	for _, i := range h.each("session.reported") {
		if e := h[i]; e.Occurred != "" && !e.Data.Late && e.by(e.Data.SessionID) {
			return fmt.Sprintf(
				"what %s reported while the server was down arrived when it was back, and keeps its time",
				h.nameOf(e.Data.SessionID),
			), nil
		}
	}
	return "", errors.New("no report was made while the server was dead")
}

// judgeQuestion: a worker asked, a person answered, the answer was shown to the worker, and is in its result.
func judgeQuestion(h history, _ Evidence) (string, error) {
	why := errors.New("nobody asked")
	for _, asked := range h.each("session.reported") {
		question := h[asked].Data
		if question.Kind != "needs-input" || len(question.TaskIDs) == 0 {
			continue
		}
		session := h.nameOf(question.SessionID)
		answered := h.after(asked, "input.answered", func(e *event) bool {
			return e.Data.InputID == question.InputID && e.byUser()
		})
		if answered < 0 {
			why = fmt.Errorf("%s asked and nobody answered", session)
			continue
		}
		answer := h[answered].Data.Answer
		shown := h.delivered(answered, question.InputID, question.SessionID)
		if shown < 0 {
			why = fmt.Errorf("%s was not shown the answer", session)
			continue
		}
		if h.reportedDone(shown, question.SessionID, question.TaskIDs[0], answer) < 0 {
			why = fmt.Errorf("the result of %s does not have the answer “%s”", session, answer)
			continue
		}
		return fmt.Sprintf("%s asked, you answered “%s”, and its result has it", session, answer), nil
	}
	return "", why
}

// judgeMessage: a message was shown to a worker, and only then its result has what the message named.
func judgeMessage(h history, _ Evidence) (string, error) {
	why := errors.New("nobody wrote a message")
	for _, sent := range h.each("session.messaged") {
		message := h[sent].Data
		session, name := h.nameOf(message.SessionID), named(message.Text)
		shown := h.delivered(sent, message.MessageID, message.SessionID)
		if shown < 0 {
			why = fmt.Errorf("%s was not shown the message", session)
			continue
		}
		done := h.after(shown, "session.reported", func(e *event) bool {
			return e.by(message.SessionID) && e.Data.Kind == "complete" && strings.Contains(e.Data.Message, name)
		})
		if name == "" || done < 0 || h.saidBefore(shown, message.SessionID, name) {
			why = fmt.Errorf("%s did not act on the message “%s”", session, message.Text)
			continue
		}
		return fmt.Sprintf("%s was shown “%s”, and its result has it", session, message.Text), nil
	}
	return "", why
}

// judgeReopen: work reported as done was reopened with a reason, the worker was notified and did what the reason names,
// and a person confirmed it.
func judgeReopen(h history, _ Evidence) (string, error) {
	why := errors.New("nobody reopened a task with a reason")
	for _, reopened := range h.each("task.status_changed") {
		move := h[reopened].Data
		if move.To == "completed" || move.Reason == "" || len(move.Notice.SessionIDs) == 0 {
			continue
		}
		id, name := move.Notice.SessionIDs[0], named(move.Reason)
		session := h.nameOf(id)
		said := h.reportedDone(-1, id, move.TaskID, "")
		shown := h.delivered(reopened, move.Notice.MailID, id)
		switch {
		case said < 0 || said > reopened:
			why = fmt.Errorf("%s had not said that %s was done", session, move.TaskID)
			continue
		case shown < 0:
			why = fmt.Errorf("%s was not shown why %s was reopened", session, move.TaskID)
			continue
		}
		again := h.reportedDone(shown, id, move.TaskID, name)
		if name == "" || again < 0 || h.saidBefore(shown, id, name) {
			why = fmt.Errorf("%s did not do what “%s” asks for", session, move.Reason)
			continue
		}
		if h.after(again, "task.status_changed", func(e *event) bool {
			return e.byUser() && e.Data.TaskID == move.TaskID && e.Data.To == "completed"
		}) < 0 {
			why = fmt.Errorf("nobody confirmed %s after it was done again", move.TaskID)
			continue
		}
		return fmt.Sprintf("%s was told “%s”, fixed it, and you confirmed it", session, move.Reason), nil
	}
	return "", why
}

// judgeRefusal: a worker that tried to confirm its work was refused, and the refusal is recorded.
func judgeRefusal(h history, e Evidence) (string, error) {
	for _, refusal := range e.Refusals {
		_, session, _ := strings.Cut(refusal.Actor, "/sessions/")
		if refusal.Command == "task:complete" && refusal.Code == "NOT_ALLOWED" && session != "" {
			return h.nameOf(session) + " tried to confirm its own work, and was refused", nil
		}
	}
	return "", errors.New("no worker was refused to confirm its own work")
}

// judgeBoundary: a worker that tried to become the user failed in each way, and the log shows no trace of a success. Its
// supervisor outlived it: it recorded how it ended.
func judgeBoundary(h history, e Evidence) (string, error) {
	if len(e.Attempts) != waysToBecomeUser {
		return "", fmt.Errorf("nobody tried to become you in %d ways", waysToBecomeUser)
	}
	tried := 0
	for _, attempt := range e.Attempts {
		switch {
		case attempt.Skipped:
			continue
		case !attempt.Held:
			return "", fmt.Errorf("a worker %s, and it worked: %s", attempt.What, attempt.Said)
		}
		tried++
	}
	who := h.after(-1, "session.spawned", func(e *event) bool { return e.Data.Name == oversteps })
	if who < 0 {
		return "", errors.New("the worker that tried it is not in the log")
	}
	ofIt := func(e *event) bool { return e.Data.SessionID == h[who].Data.SessionID }
	claimed, exited := h.after(who, "session.claimed", ofIt), h.after(who, "session.exited", ofIt)
	if claimed < 0 || exited < 0 || h[exited].Data.Status != "completed" && h[exited].Data.Reason != "" {
		return "", fmt.Errorf("the supervisor of %s did not record how it ended", oversteps)
	}
	if i := h.after(-1, "token.created", func(*event) bool { return true }); i >= 0 {
		return "", errors.New("a token was created, and not by you")
	}
	if i := h.after(-1, "session.noted", func(e *event) bool { return e.Data.Message == stolenNote }); i >= 0 {
		return "", errors.New("a worker wrote as another one")
	}
	if layers := h[claimed].Data.Layers; len(layers) > 0 {
		return fmt.Sprintf("%s tried %d ways to become you, and failed, behind %s", oversteps, tried, listed(layers)),
			nil
	}
	return fmt.Sprintf("%s tried %d of %d ways to become you, and failed; this system confines no agent", oversteps,
		tried, len(e.Attempts)), nil
}

// judgeOrchestrator: an orchestrator spawned workers, confirmed the report of each, reported its goal, and ended after
// them.
func judgeOrchestrator(h history, _ Evidence) (string, error) {
	begun := h.after(-1, "session.spawned", func(e *event) bool { return e.Data.Role == "orchestrator" })
	if begun < 0 {
		return "", errors.New("there is no orchestrator")
	}
	leader := h[begun].Data
	var names []string
	last := begun
	for _, spawned := range h.each("session.spawned") {
		member := h[spawned].Data
		if !h[spawned].by(leader.SessionID) {
			continue
		}
		if len(member.TaskIDs) == 0 {
			return "", fmt.Errorf("%s was spawned without a task", member.Name)
		}
		task := member.TaskIDs[0]
		said := h.reportedDone(spawned, member.SessionID, task, "")
		ended := h.after(said, "session.completed", func(e *event) bool { return e.by(member.SessionID) })
		confirmed := h.after(said, "task.status_changed", func(e *event) bool {
			return e.by(leader.SessionID) && e.Data.TaskID == task && e.Data.To == "completed"
		})
		if said < 0 || ended < 0 || confirmed < 0 {
			return "", fmt.Errorf("%s did not report, end and have its task confirmed by %s", member.Name, leader.Name)
		}
		names, last = append(names, member.Name), max(last, ended, confirmed)
	}
	if len(names) != helpers || len(leader.TaskIDs) == 0 {
		return "", fmt.Errorf("%s has spawned %d workers, not %d", leader.Name, len(names), helpers)
	}
	said := h.reportedDone(last, leader.SessionID, leader.TaskIDs[0], "")
	ended := h.after(said, "session.completed", func(e *event) bool { return e.by(leader.SessionID) })
	if said < 0 || ended < 0 {
		return "", fmt.Errorf("%s did not report its goal and end, after its workers had", leader.Name)
	}
	return fmt.Sprintf("%s spawned %s, confirmed their work, reported its goal and ended", leader.Name, listed(names)),
		nil
}

// judgeConfirmed: in the end every task is completed, as a person or the orchestrator decided.
func judgeConfirmed(h history, _ Evidence) (string, error) {
	created, decided := map[string]bool{}, map[string]string{}
	byUser := 0
	for _, e := range h {
		switch e.Type {
		case "task.created":
			created[e.Data.TaskID] = true
		case "task.status_changed":
			decided[e.Data.TaskID] = e.Data.To
			if e.Data.To == "completed" && e.byUser() {
				byUser++
			}
		}
	}
	for _, task := range slices.Sorted(maps.Keys(created)) {
		if decided[task] != "completed" {
			return "", fmt.Errorf("%s is not completed", task)
		}
	}
	if len(created) == 0 {
		return "", errors.New("there are no tasks")
	}
	return fmt.Sprintf("all %d tasks are completed: you decided %d, the orchestrator %d", len(created), byUser,
		len(created)-byUser), nil
}

// judgeAcknowledged: everything that the server acknowledged is in the log, once.
func judgeAcknowledged(h history, e Evidence) (string, error) {
	count := map[string]int{}
	for _, x := range h {
		count[x.ID]++
	}
	for _, id := range e.Acknowledged {
		if count[id] != 1 {
			return "", fmt.Errorf("event %s was acknowledged, and is in the log %d times", id, count[id])
		}
	}
	if len(e.Acknowledged) == 0 {
		return "", errors.New("nothing was acknowledged")
	}
	return fmt.Sprintf("%d answers named an event, and the log has each of them", len(e.Acknowledged)), nil
}

// listed joins names as in a sentence.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
