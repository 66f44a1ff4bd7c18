package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/service/wire"
)

// toAll sends a message to the caller's team.
func (w *world) toAll(c *Caller, key, body string, o Options) (Done, error) {
	w.Helper()
	o.All = true
	c.Meta.Key = key
	return w.Do(w.Context(), c, Call{
		ID:      "session:message",
		Length:  int64(len(body)),
		Body:    func() ([]byte, error) { return []byte(body), nil },
		Drop:    func() {},
		Options: o,
	})
}

// A message to all goes to each session at work that an orchestrator leads, and of a user's to each of a project. A
// refusal for one does not affect the others, a repeated request writes to nobody twice, and a dry run to nobody.
func TestMessageToATeam(t *testing.T) {
	w := newWorld(t)
	task, made := w.team()
	project := w.projectOf(task)
	spawned := w.do(made.orchestrator, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+task+`"],"name":"second"}`)
	second := w.caller(spawned.Token)
	done := w.caller(w.do(made.orchestrator, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`).Token)
	w.do(done, "session:complete", `{}`)

	tried, err := w.toAll(made.orchestrator, "try", `{"text":"Stop"}`, Options{DryRun: true})
	if err != nil || !sentTo(tried.Team, made.id, second.By.Name) {
		t.Fatalf("a dry run: %+v %v", tried.Team, err)
	}
	if n := w.waiting(made.id); n != 0 {
		t.Fatalf("a dry run wrote %d messages", n)
	}
	for range 2 {
		said, err := w.toAll(made.orchestrator, "stop", `{"text":"Stop"}`, Options{})
		if err != nil || !sentTo(said.Team, made.id, second.By.Name) || len(said.Team.NotSent) > 0 {
			t.Fatalf("%+v %v", said.Team, err)
		}
		if name := said.Team.Names[second.By.Name]; name != "second" {
			t.Errorf("the second session is named %q", name)
		}
	}
	var reused *commands.Refusal
	if _, err := w.toAll(made.orchestrator, "stop", `{"text":"Go on"}`, Options{}); !errors.As(err, &reused) ||
		reused.Code != commands.CodeKeyReused || !strings.Contains(reused.Message, "'stop'") {
		t.Errorf("the same key for another text: %v", err)
	}
	for _, c := range []*Caller{made.worker, second} {
		if n := w.waiting(c.By.Name); n != 1 {
			t.Errorf("%s has %d messages, want 1", c.By.Name, n)
		}
	}
	// A key that one session has had with another text is refused for that session only.
	joined := w.do(made.orchestrator, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
	third := w.caller(joined.Token)
	mixed, err := w.toAll(made.orchestrator, "stop", `{"text":"Go on"}`, Options{})
	if err != nil || !sentTo(mixed.Team, third.By.Name) || len(mixed.Team.NotSent) != 2 ||
		!strings.Contains(mixed.Team.NotSent[0].Message, "'stop'") {
		t.Errorf("a reused key with somebody new: %+v %v", mixed.Team, err)
	}
	w.do(third, "session:complete", `{}`)
	for n := w.waiting(made.id); n < int(commands.LimitMailFromOne.Value); n++ {
		w.do(made.orchestrator, "session:message", fmt.Sprintf(`{"sessionId":%q,"text":"Go on"}`, made.id))
	}
	said, err := w.toAll(made.orchestrator, "again", `{"text":"Stop"}`, Options{})
	if err != nil || !sentTo(said.Team, second.By.Name) || len(said.Team.NotSent) != 1 ||
		said.Team.NotSent[0].SessionID != made.id || said.Team.NotSent[0].Message == "" {
		t.Errorf("with a full mailbox: %+v %v", said.Team, err)
	}
	said, err = w.toAll(w.admin(), "night", `{"project":"`+project+`","text":"Good night"}`, Options{})
	if err != nil || len(said.Team.Sent) != 5 || slices.Contains(said.Team.Sent, done.By.Name) {
		t.Errorf("the user's: %+v %v", said.Team, err)
	}
}

// A message to all is refused to who leads nobody, without a project to a user, and together with a session's id; no
// other command has a team.
func TestMessageToNoTeam(t *testing.T) {
	w := newWorld(t)
	_, made := w.team()
	for _, c := range []struct {
		by   *Caller
		body string
	}{
		{made.worker, `{"text":"Hello"}`},
		{made.orchestrator, `{"text":" "}`},
		{made.orchestrator, `{"text":"Hello","project":"proj_1"}`},
		{made.orchestrator, `{"text":"Hello","sessionId":"` + made.id + `"}`},
		{w.admin(), `{"text":"Hello"}`},
		{w.admin(), `{"text":"Hello","project":"proj_unknown"}`},
	} {
		said, err := w.toAll(c.by, "k", c.body, Options{})
		var refusal *commands.Refusal
		var problem *Problem
		if !errors.As(err, &refusal) && !errors.As(err, &problem) {
			t.Errorf("%s: %s: %+v %v", c.by.By, c.body, said.Team, err)
		}
	}
	if n := w.waiting(made.id); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	long := strings.Repeat("k", commands.MaxKey+1)
	if _, err := w.toAll(made.orchestrator, long, `{"text":"Hello"}`, Options{}); err == nil {
		t.Error("a key that is too long is taken")
	}
	if checkAll(&commands.KillSession{SessionID: made.id}, Options{All: true}) == nil {
		t.Error("session:kill takes all")
	}
	said, err := w.toAll(made.another, "k", `{"text":"Hello"}`, Options{})
	if err != nil || len(said.Team.Sent) != 0 {
		t.Errorf("an orchestrator without sessions: %+v %v", said.Team, err)
	}
}

// Of many similar warnings about the sessions of a team, the first are shown, and the others counted.
func TestWarningsOfATeamAreFew(t *testing.T) {
	w := newWorld(t)
	task, made := w.team()
	for range teamWarned + 3 {
		spawned := w.do(made.orchestrator, "session:spawn", `{"taskIds":["`+task+`"]}`)
		_, id := spawned.Data.Aggregate()
		w.do(w.admin(), "session:note", `{"sessionId":"`+id+`","type":"`+wire.TypeExited+`","message":"m"}`)
	}
	said, err := w.toAll(made.orchestrator, "k", `{"text":"Hello"}`, Options{})
	if err != nil || len(said.Warnings) != teamWarned+1 ||
		said.Warnings[teamWarned] != "3 more warnings are not shown" {
		t.Errorf("%q %v", said.Warnings, err)
	}
}

func sentTo(team *wire.Team, want ...string) bool {
	return team != nil && slices.Equal(slices.Sorted(slices.Values(team.Sent)), slices.Sorted(slices.Values(want)))
}

// waiting counts the unread mail of a session.
func (w *world) waiting(session string) int {
	w.Helper()
	box, err := w.mailOf(w.admin(), session)
	if err != nil {
		w.Fatal(err)
	}
	return len(box.Mail) + box.More
}
