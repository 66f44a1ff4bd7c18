package sandbox

import (
	"slices"
	"strings"
)

// container judges what runs in a container: its paths are its own, but it may not stop a machine or format a disk.
func (c *call) container() bool {
	switch c.name {
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose":
		c.docker()
	case "kubectl", "oc":
		i := slices.Index(c.args, "--")
		if i >= 0 && slices.Contains(c.args[:i], "exec") {
			c.within(c.args[i+1:])
		}
		if len(c.args) > 2 && c.args[0] == "cp" {
			c.toLocal(parse(c.args[1:], takes{short: "cn", long: "container namespace"}, false).operands)
		}
	case "lxc", "incus", "machinectl", "buildah", "distrobox", "toolbox":
		if i := slices.Index(c.args, "--"); i >= 0 {
			c.within(c.args[i+1:])
		}
	default:
		return false
	}
	return true
}

func (c *call) within(words []string) {
	c.j.elsewhere++
	c.exec(words)
	c.j.elsewhere--
}

func (c *call) docker() {
	t := takes{
		short: "HclfpevuwhmanLt",
		long: "host context log-level file project-name project-directory profile env-file env volume user " +
			"workdir name " +
			"network publish entrypoint platform label memory cpus mount add-host hostname ip device cap-add " +
			"cap-drop " +
			"security-opt restart gpus env runtime shm-size ulimit tmpfs pull detach-keys link dns expose " +
			"log-driver index",
	}
	t.short = strings.ReplaceAll(t.short, "t", "")
	args := c.args
	if c.name != "docker-compose" && c.name != "podman-compose" {
		p := parse(args, takes{short: "Hcl", long: "host context config log-level"}, true)
		args = p.operands
		if len(args) > 0 && (args[0] == "compose" || args[0] == "container") {
			args = parse(args[1:], takes{short: "fp", long: "file project-name project-directory profile env-file"},
				true).operands
		}
	} else {
		args = parse(args, takes{short: "fp", long: "file project-name project-directory profile env-file"},
			true).operands
	}
	if len(args) == 0 {
		return
	}
	switch args[0] {
	case "run", "exec", "create":
		p := parse(args[1:], t, true)
		words := p.operands[min(1, len(p.operands)):]
		if entry, ok := p.last("entrypoint"); ok {
			words = append([]string{entry}, words...)
		}
		if len(words) > 0 {
			c.within(words)
		}
	case "cp":
		c.toLocal(parse(args[1:], takes{}, false).operands)
	case "save", "export":
		c.all(parse(args[1:], takes{short: "o", long: "output"}, false).all("o", "output"), writes)
	case "build", "buildx":
		c.all(parse(args[1:], takes{short: "tfo", long: "iidfile tag file metadata-file"}, false).all("iidfile",
			"metadata-file"), writes)
	}
}
