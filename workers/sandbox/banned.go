package sandbox

import (
	"slices"
	"strings"
)

// banned judges commands that are blocked whatever their paths are: they format or overwrite disks, or stop the
// machine.
func (c *call) banned() bool {
	switch name := c.name; {
	case name == "mkfs" || strings.HasPrefix(name, "mkfs."):
		c.formats()
	case name == "dd":
		c.dd()
	case name == "systemctl" || name == "loginctl":
		c.systemctl()
	default:
		return c.disk() || c.power()
	}
	return true
}

func (c *call) formats() {
	c.j.blocks(RuleFormat, "%s formats or repartitions a disk and is never run here. Work with files in the target.",
		shown(c.name))
}

func (c *call) disk() bool {
	p := parse(c.args, takes{}, false)
	switch c.name {
	case "mke2fs", "mkswap", "mkdosfs", "mkntfs", "mkexfatfs", "mkreiserfs", "mkudffs", "mkhfs", "newfs", "newfs_msdos",
		"blkdiscard", "cfdisk", "pvcreate", "pvremove", "vgremove", "vgcreate", "lvremove", "sg_format", "mkfs_msdos",
		"format.com", "make-bcache", "scsiformat":
		c.formats()
	case "wipefs":
		if p.has("a", "o", "all", "offset") || slices.ContainsFunc(c.args, vague) {
			c.formats()
		}
	case "fdisk", "gdisk":
		c.formatsUnless(p.has("l", "list", "V", "version", "h", "help", "x-list") || len(p.operands) == 0 &&
			!p.has("b"))
	case "sfdisk":
		c.formatsUnless(p.has("l", "list", "d", "dump", "J", "json", "F", "list-free", "V", "verify", "v", "version",
			"h",
			"help", "s", "show-size", "g", "show-geometry") && !p.has("delete"))
	case "sgdisk":
		c.formatsUnless(len(p.options) > 0 && !slices.ContainsFunc(p.options, func(o option) bool {
			return !slices.Contains([]string{
				"p", "print", "i", "info", "v", "verify", "V", "version", "F", "first-in-largest", "f", "E",
				"end-of-largest", "L", "list-types", "h", "help", "D", "display-alignment", "1", "2", "3", "4", "5",
			}, o.name)
		}))
	case "parted":
		c.formatsUnless(p.has("l", "list", "v", "version", "h", "help") || len(p.operands) > 1 &&
			(p.operands[1] == "print" || p.operands[1] == "p" || p.operands[1] == "help") && len(p.operands) < 4)
	case "cryptsetup":
		c.formatsIf("luksFormat", "luksErase", "erase", "reencrypt", "luksKillSlot", "format", "luksRemoveKey")
	case "nvme":
		c.formatsIf("format", "sanitize", "write", //nolint:misspell // nvme's word
			"write-zeroes", "write-uncor", "delete-ns", "create-ns", "dsm", "reset",
			"fw-download", "fw-commit", "security-send")
	case "badblocks":
		if p.has("w", "n") {
			c.formats()
		}
	case "mdadm":
		if p.has("C", "create", "zero-superblock", "B", "build") {
			c.formats()
		}
	case "hdparm":
		if slices.ContainsFunc(p.options, func(o option) bool {
			return strings.HasPrefix(o.name, "security-") || strings.HasPrefix(o.name, "trim-") ||
				o.name == "write-sector" || o.name == "repair-sector" || o.name == "fwdownload" ||
				o.name == "make-bad-sector"
		}) {
			c.formats()
		}
	case "zpool":
		c.formatsIf("create", "destroy", "labelclear", "add", "attach", "replace")
	case "btrfs":
		c.formatsIf("device", "replace")
	case "diskutil":
		c.formatsIf("eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "secureErase", "reformat", "randomDisk")
	case "tune2fs", "resize2fs", "e2fsck", "fsck", "xfs_repair", "debugfs", "e2label", "fatlabel", "swaplabel",
		"xfs_admin",
		"partx", "kpartx", "dmsetup", "ntfsresize", "lvresize", "lvcreate", "lvextend", "ddrescue",
		"partclone", "swapon", "sg_dd", "dcfldd", "dc3dd", "pv":
		c.devices(p.operands)
	default:
		return strings.HasPrefix(c.name, "fsck.") && c.devices(p.operands)
	}
	return true
}

func (c *call) formatsUnless(reads bool) {
	if !reads {
		c.formats()
	}
}

func (c *call) formatsIf(actions ...string) {
	if slices.ContainsFunc(c.args, func(arg string) bool { return slices.Contains(actions, arg) }) {
		c.formats()
	}
}

// devices judges operands that are written to if they are devices.
func (c *call) devices(operands []string) bool {
	switch c.name {
	case "dcfldd", "dc3dd", "sg_dd":
		c.dd()
		return true
	case "pv":
		return true
	case "ddrescue", "partclone":
		operands = operands[min(1, len(operands)):]
	}
	for _, operand := range operands {
		if strings.HasPrefix(operand, "/") {
			c.j.change(c.e, c.name, operand, writes)
		}
	}
	return true
}

func (c *call) dd() {
	for _, arg := range c.args {
		switch name, value, ok := strings.Cut(arg, "="); {
		case strings.HasPrefix(arg, unknown):
			c.j.blocks(RuleUnknown, "dd has an operand that cannot be evaluated: %q. Write it out.", shown(arg))
		case !ok:
		case name == "if" || vague(name):
			c.j.blocks(RuleRawDisk, "dd with if= copies raw data and is never run here. Use cp, head or truncate.")
		case name == "of":
			c.j.change(c.e, c.name, value, writes)
		}
	}
}

// stops blocks a command that stops the machine.
func (c *call) stops(what string) {
	c.j.blocks(RulePower, "%s stops or restarts the machine, or asks for it. Ask a person if that is needed.",
		shown(what))
}

func (c *call) power() bool {
	switch c.name {
	case "shutdown", "reboot", "halt", "poweroff", "pm-hibernate", "pm-suspend", "openrc-shutdown", "systemd-reboot":
		c.stops(c.name)
	case "init", "telinit", "runit-init", "uadmin", "openrc-init":
		for _, arg := range c.args {
			if arg == "0" || arg == "6" || vague(arg) {
				c.stops(c.name + " " + arg)
			}
		}
	case "kexec":
		if parse(c.args, takes{short: "t", long: "type append command-line initrd"}, false).has("e", "exec") {
			c.stops("kexec -e")
		}
	case "busctl", "dbus-send", "gdbus", "qdbus", "gnome-session-quit", "osascript", "rundll32":
		text := asciiLower(strings.Join(c.args, " "))
		for _, word := range []string{
			"reboot", "poweroff", "power-off", "manager.halt", " halt", "shut down",
			"shutdown", "restart",
		} {
			if strings.Contains(text, word) {
				c.stops(c.name)
			}
		}
	default:
		return false
	}
	return true
}

func (c *call) systemctl() {
	p := parse(c.args, takes{
		short: "HMtpPnos",
		long: "host machine type property lines output signal state root kill-whom kill-who job-mode " +
			"check-inhibitors+ " +
			"preset-mode what image drop-in when message boot-loader-entry boot-loader-menu",
	}, false)
	if len(p.operands) == 0 {
		return
	}
	verb := p.operands[0]
	switch verb {
	case "reboot", "poweroff", "halt", "kexec", "soft-reboot", "exit":
		c.stops(c.name + " " + verb)
	case "start", "isolate", "restart", "try-restart", "reload-or-restart":
		for _, unit := range p.operands[1:] {
			switch name, _, _ := strings.Cut(unit, "."); name {
			case "reboot", "poweroff", "halt", "shutdown", "kexec", "soft-reboot", "runlevel0", "runlevel6",
				"systemd-reboot",
				"systemd-poweroff", "systemd-halt", "systemd-kexec", "ctrl-alt-del", "exit", "final", "umount":
				c.stops(c.name + " " + verb + " " + unit)
			}
			if vague(unit) {
				c.j.blocks(RuleUnknown, "systemctl starts a unit that cannot be evaluated. Write its name out.")
			}
		}
	case "edit":
	default:
		if vague(verb) {
			c.j.blocks(RuleUnknown, "systemctl does something that cannot be evaluated. Write it out.")
		}
	}
}
