package api

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"maestro/commands"
	"maestro/service"
	"maestro/service/wire"
)

// What bounds the lists of answers, apart from the limits of docs/limits.md, which are given by name.
const (
	// byFew is bounded by the program: it has one entry for each of a few known kinds or names.
	byFew = "few"
	// byWhole is a list that older clients expect whole: it is rendered in parts, and counts as an unread answer.
	byWhole = "whole"
)

// bounds says of each list in an answer what bounds it: one of the words above, the name of a limit, or the name of the
// member beside it, with a +, that counts what is left out.
var bounds = map[string]string{
	"AllowedCommands.allowedCommands": byFew,
	"AllowedCommands.hiddenCommands":  byFew,
	"Can.commands":                    byFew,
	"Can.refused":                     byFew,
	"Can.limits":                      byFew,
	"CanRefused.commands":             byFew,
	"InboxItem.next":                  byFew,
	"InboxItem.options":               "options",
	"InputView.options":               "options",
	"InputView.taskIds":               "ids",
	"InputView.taskTitles":            "ids",
	"Credential.within":               byFew,
	"Permissions.commands":            byFew,
	"ProjectStatus.lost":              "+lostMore",
	"ProjectStatus.lostNames":         "+lostMore",
	"ProjectStatus.queues":            "+queuesMore",
	"ProjectStatus.saidBySessions":    "+saidBySessionsMore",
	"ProjectStatus.unconfirmed":       "+unconfirmedMore",
	"ProjectStatus.toConfirm":         "+unconfirmedMore",
	"ProjectStatus.said":              "+saidMore",
	"ProjectStatus.spawnedByExpired":  "+spawnedByExpiredMore",
	"ProjectStatus.unread":            byFew,
	"SpawnAnswer.warnings":            byFew,
	"QueueBody.items":                 "+itemsMore",
	"QueueItems.items":                "+itemsMore",
	"SessionBody.events":              byWhole,
	"SessionBody.skills":              "entries",
	"SessionBody.taskIds":             "session-tasks",
	"SessionBody.unlinked":            "unlinked",
	"RunView.layers":                  "entries",
	"UsageView.models":                byFew,
	"Runners.runners":                 byFew,
	"Runner.layers":                   byFew,
	"Runner.workers":                  "+waiting",
	"Runner.orchestrators":            "+waiting",
	"RunnerWork.sessions":             "+more",
	"SessionBody.timeline":            byWhole,
	"SessionQueueBody.items":          "+itemsMore",
	"LogEvents.events":                "+before",
	"LogEvent.redacted":               byFew,
	"EventHistogram.slices":           "event-slices",
	"EventSlice.marks":                byFew,
	"Verdict.redactions":              "+redactionsMore",
	"Since.inbox":                     "+inboxMore",
	"Since.queues":                    "+queuesMore",
	"Since.sessions":                  "+sessionsMore",
	"Since.tasks":                     "+tasksMore",
	"TaskTree.acceptanceCriteria":     "entries",
	"TaskTree.agentIds":               "entries",
	"TaskTree.children":               "+below",
	"TaskTree.dependencies":           "dependencies",
	"TaskTree.queues":                 "task-queues",
	"TaskTree.says":                   "+saysMore",
	"TaskTree.sessionIds":             "task-sessions",
	"TaskTree.labels":                 "entries",
	"TaskTree.skillIds":               "entries",
	"TaskTree.goneDependencies":       "dependencies",
	"TaskTree.unmetDependencies":      "dependencies",
	"TaskView.acceptanceCriteria":     "entries",
	"Mailbox.mail":                    "+more",
	"TaskView.agentIds":               "entries",
	"TaskView.dependencies":           "dependencies",
	"TaskView.queues":                 "task-queues",
	"TaskView.says":                   "+saysMore",
	"TaskView.sessionIds":             "task-sessions",
	"TaskView.labels":                 "entries",
	"TaskView.skillIds":               "entries",
	"TaskView.goneDependencies":       "dependencies",
	"TaskView.unmetDependencies":      "dependencies",
	"Texts.lost":                      "+lostMore",
	"TokenView.running":               "+runningMore",
	"TokenView.projectIds":            "ids",
	"Webhook.types":                   "entries",
	"Verdict.faults":                  "+faultsMore",
	"Why.chains":                      "+chainsMore",
	"WhyChain.steps":                  "why-steps",
	"Work.acceptanceCriteria":         "entries",
	"Work.cut":                        byFew,
	"Work.earlier":                    byFew,
	"WorkWord.taskIds":                "session-tasks",
	"Workflow.words":                  byFew,
	"Work.dependencyResults":          "+dependencyResultsMore",
	"ReloadedSkill.roles":             byFew,
	"Skill.roles":                     byFew,
	"Whoami.tasks":                    "+tasksMore",
}

// wholeLists are the routes whose lists older clients know whole, and come in pages if that is asked for, and the one
// whose list the program knows.
var wholeLists = []string{
	"/api/projects", "/api/sessions", "/api/tasks", "/api/tasks/{id}/children", "/api/templates",
	"/api/templates/role/{role}", "/api/audit/limits", "/api/skills", "/api/skills/role/{role}",
}

// TestEveryListOfAnAnswerIsBounded goes over the shapes of all answers. A new list has to say what bounds it.
func TestEveryListOfAnAnswerIsBounded(t *testing.T) {
	s := &server{mux: http.NewServeMux()}
	s.routes()
	document := documentOf(s.table)
	limits := map[string]bool{}
	for _, group := range commands.Limits() {
		for _, limit := range group.Limits {
			limits[limit.Name] = true
		}
	}
	lists := map[string]*huma.Schema{} // the shape that each list is a member of
	seen := map[*huma.Schema]bool{}
	var walk func(name string, schema *huma.Schema)
	walk = func(name string, schema *huma.Schema) {
		if schema.Ref != "" {
			name = schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]
			schema = document.Components.Schemas.SchemaFromRef(schema.Ref)
		}
		if seen[schema] {
			return
		}
		seen[schema] = true
		for member, of := range schema.Properties {
			if of.Type == huma.TypeArray || of.Items != nil {
				lists[name+"."+member] = schema
			}
			walk(name+"."+member, of)
		}
		if schema.Items != nil {
			walk(name, schema.Items)
		}
		if of, ok := schema.AdditionalProperties.(*huma.Schema); ok {
			walk(name, of)
		}
	}
	for path, item := range document.Paths {
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if operation == nil {
				continue
			}
			for status, response := range operation.Responses {
				if media := response.Content["application/json"]; media != nil && strings.HasPrefix(status, "2") {
					walk(operation.Method+" "+path, media.Schema)
					paged := service.Query(operation.OperationID).InPages()
					if media.Schema.Items != nil && !paged && !slices.Contains(wholeLists, path) {
						t.Errorf("%s %s answers with a whole list", operation.Method, path)
					}
				}
			}
		}
	}
	// These routes answer without the document of the API.
	for _, shape := range []any{wire.Verdict{}, wire.Texts{}, wire.Can{}} {
		walk("", document.Components.Schemas.Schema(reflect.TypeOf(shape), true, ""))
	}
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		bound, counted := strings.CutPrefix(bounds[list], "+")
		known := limits[bound] || slices.Contains([]string{byFew, byWhole}, bound)
		if counted {
			known = lists[list].Properties[bound] != nil
		}
		if !known {
			t.Errorf("%s: no bound is declared: %q", list, bounds[list])
		}
	}
	for list := range bounds {
		if lists[list] == nil {
			t.Errorf("the table has %s, but no answer has it", list)
		}
	}
}
