package api_test

import (
	"errors"
	"io/fs"
	"testing"

	"maestro/service/wire"
)

// someSkills are skills in memory.
type someSkills []wire.Skill

func (s someSkills) Skills() ([]wire.Skill, error) {
	var found []wire.Skill
	for _, skill := range s {
		skill.Instructions = ""
		found = append(found, skill)
	}
	return found, nil
}

func (s someSkills) Skill(id string) (wire.Skill, error) {
	for _, skill := range s {
		if skill.ID == id {
			return skill, nil
		}
	}
	if id == "broken" {
		return wire.Skill{}, errors.New("SKILL.md has no front matter")
	}
	return wire.Skill{}, fs.ErrNotExist
}

func TestOldSkills(t *testing.T) {
	some := someSkills{
		{ID: "all", Name: "All", Description: "d", Type: "skill", Version: "1", Instructions: "Do."},
		{ID: "lead", Name: "Lead", Description: "", Type: "role", Version: "2", Roles: []string{"orchestrator"}},
	}
	o := old{open(t, func(c *setup) { c.AuthOff, c.Skills = true, some })}
	all := `{"id":"all","name":"All","description":"d","type":"skill","version":"1"`
	lead := `{"id":"lead","name":"Lead","description":"","type":"role","version":"2"}`
	for path, want := range map[string]string{
		"":                   "[" + all + "}," + lead + "]",
		"/all":               all + `,"instructions":"Do."}`,
		"/role/worker":       "[" + all + "}]",
		"/role/orchestrator": "[" + all + "}," + lead + "]",
		"/role/boss":         "[" + all + "}]", // an unknown filter is no error
	} {
		var got any
		o.call("GET", "/api/skills"+path, "").is(200).into(&got)
		like(t, path, want, got)
	}
	for _, listed := range o.call("GET", "/api/skills", "").is(200).array() {
		if _, has := listed.(map[string]any)["instructions"]; has {
			t.Errorf("a list has instructions: %v", listed)
		}
	}
	like(t, "reloaded", all+`,"instructions":"Do.","reloaded":true}`,
		any(o.call("POST", "/api/skills/all/reload", "").is(200).object()))
	for _, call := range [][2]string{{"GET", "/api/skills/nosuch"}, {"POST", "/api/skills/nosuch/reload"}} {
		o.routeError(o.call(call[0], call[1], ""), 404, "NOT_FOUND", "Skill not found: nosuch")
	}
	o.routeError(o.call("GET", "/api/skills/broken", ""), 422, "INVALID_SKILL",
		"Skill 'broken' cannot be used: SKILL.md has no front matter")

	w := open(t, func(c *setup) { c.Skills = some })
	project := w.project()
	_, worker := w.session(adminToken, project, w.task(project), ``)
	_, leader := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	eyes := w.token("eyes", "auditor")
	for _, call := range [][2]string{
		{"GET", "/api/skills"},
		{"GET", "/api/skills/all"},
		{"GET", "/api/skills/role/worker"},
		{"POST", "/api/skills/all/reload"},
	} {
		w.send(call[0], call[1], "", "").is(401)
		w.send(call[0], call[1], worker, "").is(403)
		w.send(call[0], call[1], leader, "").is(200)
		w.send(call[0], call[1], eyes, "").is(200)
	}
	none := old{open(t, authOff)}
	if got := none.call("GET", "/api/skills", "").is(200).array(); len(got) != 0 {
		t.Errorf("a server without a home has %v", got)
	}
}
