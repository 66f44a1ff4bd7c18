package api_test

import (
	"net/http"
	"testing"
)

// Calls of nobody are counted, and none of them is recorded as a refusal.
func TestCallsOfNobodyAreCounted(t *testing.T) {
	w := open(t, nil)
	for _, token := range []string{"msu_wrong", "mss_sess.1.wrong", "nonsense"} {
		w.send(http.MethodGet, "/api/projects", token, "").is(http.StatusUnauthorized)
	}
	if n := w.send(http.MethodGet, "/api/audit/unauthenticated", adminToken,
		"").is(http.StatusOK).at("count"); n != float64(3) {
		t.Errorf("3 calls of nobody are counted as %v", n)
	}
	if denials := w.send(http.MethodGet, "/api/audit/denials", adminToken, "").array(); len(denials) != 0 {
		t.Errorf("calls of nobody are recorded: %v", denials)
	}
}
