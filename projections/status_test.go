package projections

import (
	"fmt"
	"testing"

	"maestro/events"
)

// The status of a project, and its inbox, look up a session once, however many tasks it reported on. Reports of ended
// sessions cost no more than a walk through a list.
func TestStatusLooksUpEachSessionOnce(t *testing.T) {
	const tasks, sessions = 100, 60
	story := []given{project()}
	var ids []string
	for i := range tasks {
		ids = append(ids, fmt.Sprintf("t%03d", i))
		story = append(story, task(ids[i]))
	}
	for i := range sessions {
		id := fmt.Sprintf("s%02d", i)
		story = append(story, spawn(id),
			report(SessionSource("p", id), id, events.ReportComplete, "", ids...),
			by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped}))
	}
	s := stateOf(t, story...)
	var status ProjectStatus
	steps := stepsOf(s, func(s *State) { status = s.ProjectStatus(s.Project("p")) })
	if most := 3*tasks*(sessions/16+3) + 5*sessions + 100; steps > most {
		t.Errorf("%d steps, at most %d", steps, most)
	}
	if status.Says[events.SaysCompleted] != tasks || status.Inbox != tasks ||
		len(status.Unconfirmed)+status.UnconfirmedMore != tasks {
		t.Errorf("%+v", status)
	}
}
