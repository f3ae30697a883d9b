"""The names of the tools that we know, whatever agents call them."""

from typing import Final

TOOLS: Final = frozenset(
    {
        *("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines", "notebook_edit", "apply_patch"),
        *("delete_file", "read_file", "read_files", "list_dir", "glob", "grep"),
        *("shell", "shell_input", "shell_control", "code", "worktree"),
        *("web_fetch", "web_search", "mcp_resource", "todo", "ask_user", "plan_mode", "tool_search"),
        *("subagent", "agent_message", "schedule", "skill"),
    }
)

# what stands before the name of an agent's tool that is called like one of ours and is another
OTHER: Final = "other:"
