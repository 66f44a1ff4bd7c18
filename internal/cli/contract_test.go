package cli

import (
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The numbers in docs/contract.md, "CLI", are those of the command line.
func TestContractMatchesCommandLine(t *testing.T) {
	content, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n## CLI\n")
	section, _, _ = strings.Cut(section, "\n## ")
	codes := map[int]bool{}
	statuses := map[int]bool{}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| [^|]+ \| ([\d, ]*)\|$`)
	for _, row := range rows.FindAllStringSubmatch(section, -1) {
		code, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		codes[code] = true
		for _, text := range regexp.MustCompile(`\d+`).FindAllString(row[2], -1) {
			status, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			statuses[status] = true
			if status >= http.StatusBadRequest && exitOf(status) != code {
				t.Errorf("status %d gives exit code %d, and the page says %d", status, exitOf(status), code)
			}
		}
	}
	for code := range ExitPartial + 1 {
		if !codes[code] {
			t.Errorf("the page does not say what exit code %d means", code)
		}
	}
	_, list, _ := strings.Cut(string(content), "**Errors** are")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, text := range regexp.MustCompile(`\b[45]\d\d\b`).FindAllString(list, -1) {
		if status, err := strconv.Atoi(text); err != nil || !statuses[status] {
			t.Errorf("the table of exit codes has no status %s: %v", text, err)
		}
	}
	wait := strconv.Itoa(int(waitDefault / time.Second))
	if !strings.Contains(section, "A wait ends after "+wait+" s") {
		t.Errorf("the page does not say that a wait ends after %s s", wait)
	}
}
