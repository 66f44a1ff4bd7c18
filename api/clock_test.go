package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"maestro/service"
	"maestro/service/wire"
)

// setClock is a server's clock whose wall clock was set by a test.
type setClock struct {
	jumped bool
	wrong  error
}

func (c *setClock) Status() wire.ClockStatus {
	s := wire.ClockStatus{Time: time.Now(), Wall: time.Now(), Jumped: c.jumped}
	if c.jumped {
		s.Warning, s.Next = "the wall clock moved by 30 years", "confirm it"
	}
	return s
}

func (c *setClock) Confirm() (wire.ClockStatus, bool, error) {
	was := c.jumped
	if c.wrong != nil {
		return c.Status(), was, c.wrong
	}
	c.jumped = false
	return c.Status(), was, nil
}

// A wall clock that jumped is reported by /readyz until an admin confirms it; nobody else may.
func TestClock(t *testing.T) {
	clock := &setClock{}
	w := open(t, func(c *setup) { c.Clock = clock })
	if r := w.send(http.MethodGet, "/readyz", "", "").is(200); r.object()["warnings"] != nil {
		t.Errorf("a good clock: %s", r.body)
	}
	clock.jumped = true
	r := w.send(http.MethodGet, "/readyz", "", "").is(200)
	if !strings.Contains(string(r.body), `"code":"CLOCK"`) || !strings.Contains(string(r.body), "30 years") ||
		r.text("status") != "ready" {
		t.Errorf("readyz says %s", r.body)
	}
	project := w.project()
	_, worker := w.session(adminToken, project, w.task(project), "")
	w.do(adminToken, "token:create", `{"name":"eve","kind":"auditor"}`).is(200)
	auditor := service.NamedToken(serverKey, "eve", service.FirstGeneration)
	for _, token := range []string{worker, auditor} {
		w.send(http.MethodPost, "/api/clock/confirm", token, "").refused(403, "NOT_ALLOWED", "Confirming the clock")
	}
	if w.send(http.MethodGet, "/api/clock", auditor, "").is(200).at("jumped") != true {
		t.Error("the clock was confirmed by an actor that may not")
	}
	clock.wrong = errors.New("it shows what no event can say")
	w.send(http.MethodPost, "/api/clock/confirm", adminToken, "").
		refused(409, "CLOCK", "The wall clock is not confirmed")
	clock.wrong = nil
	for _, changed := range []bool{true, false} {
		if r := w.send(http.MethodPost, "/api/clock/confirm", adminToken, "").is(200); r.at("changed") != changed ||
			r.at("jumped") != false {
			t.Errorf("the confirmation's answer is %s", r.body)
		}
	}
	if r := w.send(http.MethodGet, "/readyz", "", "").is(200); r.object()["warnings"] != nil {
		t.Errorf("a confirmed clock: %s", r.body)
	}
}
