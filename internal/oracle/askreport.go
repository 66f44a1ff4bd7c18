package oracle

import (
	"slices"
	"strings"
)

func (a *asked) report() fact {
	s := a.sessions[a.by.id]
	_, kind, _ := strings.Cut(a.ID, ":")
	tasks, late := unique(a.f.TaskIDs), s.ended != ""
	if a.event.Project != s.project || a.f.Message == "" && len(tasks) == 0 {
		return a.no(codeInvalid)
	}
	for _, id := range tasks {
		if t := a.liveTask(id); t != nil && t.project != s.project {
			a.refuse(codeAllowed)
		}
	}
	a.options(kind)
	reported := &sessionReported{
		SessionID:        s.id,
		Kind:             kind,
		Message:          a.f.Message[:min(len(a.f.Message), maxStored)],
		TaskIDs:          tasks,
		SessionCompleted: kind == "complete" && len(tasks) == 0 && !late,
		Late:             late,
		AfterDone:        kind == "progress" && s.status == completed && !late,
		Options:          a.f.Options,
	}
	if kind == "needs-input" && !late && a.f.Message != "" {
		reported.InputID = a.fresh
	}
	return reported
}

// options refuses options that a question cannot offer.
func (a *asked) options(kind string) {
	options := a.f.Options
	if len(options) > 0 && (kind != "needs-input" || a.f.Message == "" || len(options) > maxEntries["options"]) {
		a.refuse(codeInvalid)
	}
	for i, option := range options {
		if strings.TrimSpace(option) == "" || slices.Contains(options[:i], option) {
			a.refuse(codeInvalid)
		}
	}
}
