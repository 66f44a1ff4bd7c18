package simulation

import "strings"

// expectedTable is the contract's permission table ("Who may do what"), with document 000's lists in it, transcribed by hand and on
// purpose not read from the commands package: id, who (W Q T O U R S), read or write, and whether it is a core command.
const expectedTable = `
whoami                  WQTOURS r core
status                  WQTOURS r core
commands                WQTOURS r core
session:register        WQTOU   w core
session:complete        WQTOU   w core
track-file              WQTOU   w core
worker:init             WQT     w core
orchestrator:init       O       w core
report:progress         WQTO    w
report:blocked          WQTO    w
report:error            WQTO    w
report:needs-input      WQTO    w
report:complete         WQTO    w
task:report:progress    WQTO    w alias
task:report:blocked     WQTO    w alias
task:report:error       WQTO    w alias
task:report:needs-input WQTO    w alias
task:report:complete    WQTO    w alias
task:list               WQTOU   r
task:get                WQTOU   r
task:children           WQTOU   r
task:tree               TOU     r
task:create             WQTOU   w
task:update             OU      w
task:complete           OU      w
task:block              OU      w
task:reopen             OU      w
task:delete             U       w
session:list            OU      r
session:info            WQTOU   r
session:spawn           OU      w
session:kill            OU      w
session:message         OU      w
session:update          OU      w
session:resume          OU      w
queue:top               QU      r
queue:list              QU      r
queue:status            QU      r
queue:start             QU      w
queue:complete          QU      w
queue:fail              QU      w
queue:skip              QU      w
queue:push              QU      w
project:list            OU      r
project:get             OU      r
project:create          OU      w
project:delete          OU      w
inbox                   OU      r
input:list              OU      r
input:answer            OU      w
manifest:generate       OU      r
session:note            WQTOU   w
input:received          WQTO    w
queue:create            U       w
queue:requeue           U       w
project:update          U       w
session:delete          U       w
session:link            U       w
session:unlink          U       w
template:create         U       w
template:update         U       w
template:reset          U       w
template:delete         U       w
watch                   OU      r
since                   OU      r
why                     OU      r
events                  OU      r
audit:export            U       r
audit:verify            U       r
audit:replay            U       r
audit:head              U       r
audit:denials           U       r
audit:can               U       r
token:create            U       w
token:list              U       r
token:revoke            U       w
runner:enroll           U       w
runner:list             U       r
runner:revoke           U       w
session:claim           R       w
session:exited          R       w
session:usage           R       w
sandbox:blocked         R       w
preflight:failed        R       w
session:lost            S       w
session:recovered       S       w
session:timed-out       S       w
queue:return            S       w
queue:quarantine        S       w
limit:reached           S       w
`

// permission is one row of the expected table.
type permission struct {
	id    string
	who   string
	write bool
	core  bool
	alias bool
}

var (
	permissions   = parseTable(expectedTable)
	permissionRow = byID(permissions)
)

func parseTable(text string) []permission {
	var rows []permission
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		row := permission{id: words[0], who: words[1], write: words[2] == "w"}
		for _, word := range words[3:] {
			row.core = row.core || word == "core"
			row.alias = row.alias || word == "alias"
		}
		rows = append(rows, row)
	}
	return rows
}

func byID(rows []permission) map[string]permission {
	index := map[string]permission{}
	for _, row := range rows {
		index[row.id] = row
	}
	return index
}

// column gives the table's letter for a role and a strategy.
func column(role, strategy string) string {
	switch {
	case role == "orchestrator":
		return "O"
	case strategy == "queue":
		return "Q"
	case strategy == "tree":
		return "T"
	}
	return "W"
}

// allowedTo gives what a new session may use: its column's rows, or exactly the list and the core commands.
func allowedTo(letter string, list *[]string) map[string]bool {
	allowed := map[string]bool{}
	for _, row := range permissions {
		mine := strings.Contains(row.who, letter)
		if !row.alias && mine && (list == nil || row.core) {
			allowed[row.id] = true
		}
	}
	if list != nil {
		for _, id := range *list {
			allowed[id] = true
		}
	}
	return allowed
}

// listable reports whether an explicit list of a column may hold an id: what its row names, and reads that belong to no other.
func listable(letter, id string) bool {
	row, ok := permissionRow[id]
	if !ok {
		return false
	}
	if strings.Contains(row.who, letter) {
		return true
	}
	for _, owned := range []string{"project:", "queue:", "audit:", "token:", "runner:"} {
		if strings.HasPrefix(id, owned) {
			return false
		}
	}
	return !row.write && !row.core
}
