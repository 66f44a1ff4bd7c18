package api_test

import (
	"net/http"
	"testing"
)

// Calls without a valid credential are counted, but not recorded as refusals.
func TestCallsOfNobodyAreCounted(t *testing.T) {
	w := open(t, nil)
	for _, token := range []string{"msu_wrong", "mss_sess.1.wrong", "nonsense"} {
		w.send(http.MethodGet, "/api/projects", token, "").is(http.StatusUnauthorized)
	}
	if n := w.send(http.MethodGet, "/api/audit/unauthenticated", adminToken,
		"").is(http.StatusOK).at("count"); n != float64(3) {
		t.Errorf("3 unauthenticated calls are counted as %v", n)
	}
	if denials := w.send(http.MethodGet, "/api/audit/denials", adminToken, "").array(); len(denials) != 0 {
		t.Errorf("unauthenticated calls are recorded: %v", denials)
	}
}
