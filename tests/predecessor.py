"""Small databases of the predecessor, as its schemas 6 to 19 were."""

from pathlib import Path

import apsw

SESSION = "bazinga_20251201_090000"
OTHER_SESSION = "bazinga_20251202_090000"
FOLDER = f"bazinga/artifacts/{SESSION}"
NOON = "2025-12-01 12:00:00"

_Value = str | bytes | int | float | None


class PredecessorDb:
    """A predecessor's database, empty but for its tables. Rows name the columns they fill."""

    def __init__(self, path: Path, schema: int = 19) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = str(path)
        self.schema = schema
        self.execute("PRAGMA journal_mode = WAL")
        for table, columns in _tables(schema).items():
            self.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        self.insert("schema_version", version=schema)

    def execute(self, statement: str, values: tuple[_Value, ...] = ()) -> None:
        """Run one statement on a connection of its own, so that no write-ahead log stays beside the file."""
        connection = apsw.Connection(self.path)
        try:
            connection.pragma("synchronous", 0)  # a test's database need not survive a power cut
            connection.pragma("ignore_check_constraints", True)  # what another program wrote is in it as well
            connection.execute(statement, values)
        finally:
            connection.close()

    def insert(self, table: str, **columns: _Value) -> None:
        """Add a row."""
        marks = ", ".join("?" * len(columns))
        self.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))

    def add_session(self, name: str = SESSION, **columns: _Value) -> None:
        """Add a session, started at noon."""
        self.insert("sessions", **{"session_id": name, "mode": "parallel", "created_at": NOON, **columns})

    def add_package(self, id_: int, **columns: _Value) -> None:
        """Add a package of the session, one minute younger than the one of the number before."""
        defaults: dict[str, _Value] = {
            "id": id_, "session_id": SESSION, "group_id": "AUTH", "package_type": "research",
            "file_path": f"{FOLDER}/{id_}.md", "producer_agent": "investigator", "priority": "high",
            "summary": f"Finding {id_}.", "created_at": f"2025-12-01 12:{id_:02}:00",
        }  # fmt: skip
        self.insert("context_packages", **{**defaults, **columns})

    def add_consumer(self, package_id: int, agent: str, **columns: _Value) -> None:
        """Designate an agent; pending if nothing else is said."""
        self.insert("context_package_consumers", **{"package_id": package_id, "agent_type": agent, **columns})

    def add_reasoning(self, content: str, **columns: _Value) -> None:
        """Add an entry of reasoning."""
        defaults: dict[str, _Value] = {
            "session_id": SESSION, "timestamp": NOON, "agent_type": "developer", "content": content,
            "log_type": "reasoning", "reasoning_phase": "decisions", "confidence_level": "high", "group_id": "AUTH",
        }  # fmt: skip
        self.insert("orchestration_logs", **{**defaults, **columns})

    def add_error(self, pattern_hash: str = "cafe", **columns: _Value) -> None:
        """Add an error pattern."""
        defaults: dict[str, _Value] = {
            "pattern_hash": pattern_hash, "project_id": "shop", "solution": "Install the package.",
            "signature_json": '{"error_type": "ImportError", "message_pattern": "No module named"}',
            "last_seen": NOON, "created_at": NOON,
        }  # fmt: skip
        self.insert("error_patterns", **{**defaults, **columns})

    def add_strategy(self, name: str = "shop_general_1", **columns: _Value) -> None:
        """Add a strategy."""
        defaults: dict[str, _Value] = {
            "strategy_id": name, "project_id": "shop", "topic": "methodology", "insight": "Reproduce it first.",
            "last_seen": NOON, "created_at": NOON,
        }  # fmt: skip
        self.insert("strategies", **{**defaults, **columns})

    def add_skill_output(self, output: str = '{"status": "ok"}', **columns: _Value) -> None:
        """Add a skill's output."""
        defaults: dict[str, _Value] = {
            "session_id": SESSION, "timestamp": NOON, "skill_name": "lint-check", "output_data": output,
        }  # fmt: skip
        self.insert("skill_outputs", **{**defaults, **columns})

    def fill(self) -> None:
        """A bit of everything that this schema has: see `counts`."""
        self.add_session(status="active", original_requirements="Build the shop.", start_time=NOON)
        self.insert("task_groups", id="AUTH", session_id=SESSION, name="Sign-in", created_at=NOON, updated_at=NOON)
        self.execute("UPDATE task_groups SET context_references = '[2]'")
        for number in (1, 2, 3):
            self.add_package(number, group_id=None if number == 3 else "AUTH", scope="group")
            self.add_consumer(number, "developer")
            self.add_consumer(number, "tech_lead", consumed_at=NOON, iteration=2)
        self.add_skill_output()
        self.insert("orchestration_logs", session_id=SESSION, agent_type="developer", content="Just talk.")
        if self.schema >= 8:
            self.add_reasoning("Sessions live in Redis.")
        if self.schema >= 10:
            self.add_error()
            self.add_strategy()
            self.insert(
                "consumption_scope", scope_id="s1", session_id=SESSION, group_id="AUTH", agent_type="developer",
                iteration=1, package_id=1, consumed_at=NOON,
            )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """How many rows of each kind `fill` gives to an import."""
        counts = {"session": 1, "group": 1, "package": 3, "consumer": 6, "reference": 1, "skill": 1}
        if self.schema >= 8:
            counts["reasoning"] = 1
        if self.schema >= 10:
            counts |= {"error": 1, "strategy": 1, "delivery": 1}
        return counts


def _tables(schema: int) -> dict[str, list[str]]:
    """The columns of each table at a schema, with the defaults, checks and references that it has there."""

    def since(version: int, *columns: str) -> list[str]:
        return list(columns) if schema >= version else []

    now, own_now = "DEFAULT CURRENT_TIMESTAMP", "DEFAULT (datetime('now'))"
    number = "id INTEGER PRIMARY KEY AUTOINCREMENT"
    of_session = "FOREIGN KEY (session_id) REFERENCES sessions(session_id) ON DELETE CASCADE"
    tables = {
        "schema_version": ["version INTEGER PRIMARY KEY", f"applied_at TIMESTAMP {now}", "description TEXT"],
        "sessions": [
            "session_id TEXT PRIMARY KEY", f"start_time TIMESTAMP {now}", "end_time TIMESTAMP",
            "mode TEXT CHECK(mode IN ('simple', 'parallel'))", "original_requirements TEXT",
            "status TEXT CHECK(status IN ('active', 'completed', 'failed')) DEFAULT 'active'",
            "initial_branch TEXT DEFAULT 'main'", *since(9, "metadata TEXT"), f"created_at TIMESTAMP {now}",
        ],
        "task_groups": [
            "id TEXT NOT NULL", "session_id TEXT NOT NULL", "name TEXT NOT NULL",
            "status TEXT CHECK(status IN ('pending', 'in_progress', 'completed', 'failed', 'approved_pending_merge',"
            " 'merging')) DEFAULT 'pending'",
            "assigned_to TEXT", "revision_count INTEGER DEFAULT 0",
            "last_review_status TEXT CHECK(last_review_status IN ('APPROVED', 'CHANGES_REQUESTED', NULL))",
            "feature_branch TEXT", "merge_status TEXT", "complexity INTEGER CHECK(complexity BETWEEN 1 AND 10)",
            "initial_tier TEXT CHECK(initial_tier IN ('Developer', 'Senior Software Engineer')) DEFAULT 'Developer'",
            "context_references TEXT", *since(7, "specializations TEXT"), *since(9, "item_count INTEGER DEFAULT 1"),
            *since(14, "security_sensitive INTEGER DEFAULT 0", "qa_attempts INTEGER DEFAULT 0"),
            *since(15, "component_path TEXT"),
            *since(16, "review_iteration INTEGER DEFAULT 1 CHECK(review_iteration >= 1)"),
            *since(19, "speckit_task_ids TEXT"), f"created_at TIMESTAMP {now}", f"updated_at TIMESTAMP {now}",
            "PRIMARY KEY (id, session_id)", of_session,
        ],
        "context_packages": [
            number, "session_id TEXT NOT NULL", "group_id TEXT",
            "package_type TEXT NOT NULL CHECK(package_type IN ('research', 'failures', 'decisions', 'handoff',"
            " 'investigation'))",
            "file_path TEXT NOT NULL", "producer_agent TEXT NOT NULL",
            "priority TEXT" if schema < 10 else "priority TEXT NOT NULL DEFAULT 'medium'"
            " CHECK(priority IN ('low', 'medium', 'high', 'critical'))",
            "summary TEXT NOT NULL", "size_bytes INTEGER", "version INTEGER DEFAULT 1", "supersedes_id INTEGER",
            "scope TEXT DEFAULT 'group' CHECK(scope IN ('group', 'global'))", f"created_at TIMESTAMP {now}", of_session,
            "FOREIGN KEY (supersedes_id) REFERENCES context_packages(id)",
        ],
        "context_package_consumers": [
            number, "package_id INTEGER NOT NULL", "agent_type TEXT NOT NULL", "consumed_at TIMESTAMP",
            "iteration INTEGER DEFAULT 1",
            "FOREIGN KEY (package_id) REFERENCES context_packages(id) ON DELETE CASCADE",
            "UNIQUE (package_id, agent_type, iteration)",
        ],
        "orchestration_logs": [
            number, "session_id TEXT NOT NULL", f"timestamp TIMESTAMP {now}", "iteration INTEGER",
            "agent_type TEXT NOT NULL", "agent_id TEXT", "content TEXT NOT NULL",
            *since(
                8, "log_type TEXT DEFAULT 'interaction' CHECK(log_type IN ('interaction', 'reasoning', 'event'))",
                "reasoning_phase TEXT CHECK(reasoning_phase IS NULL OR reasoning_phase IN ('understanding', 'approach',"
                " 'decisions', 'risks', 'blockers', 'pivot', 'completion'))",
                "confidence_level TEXT CHECK(confidence_level IS NULL OR confidence_level IN ('high', 'medium',"
                " 'low'))",
                "references_json TEXT", "redacted INTEGER DEFAULT 0 CHECK(redacted IN (0, 1))", "group_id TEXT",
            ),
            *since(9, "event_subtype TEXT", "event_payload TEXT"), *since(17, "idempotency_key TEXT"), of_session,
        ],
        "skill_outputs": [
            number, "session_id TEXT NOT NULL", f"timestamp TIMESTAMP {now}", "skill_name TEXT NOT NULL",
            "output_data TEXT NOT NULL",
            *since(11, "agent_type TEXT", "group_id TEXT", "iteration INTEGER DEFAULT 1"), of_session,
        ],
    }  # fmt: skip
    if schema >= 10:
        tables |= {
            "error_patterns": [
                "pattern_hash TEXT NOT NULL", "project_id TEXT NOT NULL", "signature_json TEXT NOT NULL",
                "solution TEXT NOT NULL",
                "confidence REAL DEFAULT 0.5 CHECK(confidence >= 0.0 AND confidence <= 1.0)",
                "occurrences INTEGER DEFAULT 1 CHECK(occurrences >= 1)", "lang TEXT", f"last_seen TEXT {own_now}",
                f"created_at TEXT {own_now}", "ttl_days INTEGER DEFAULT 90 CHECK(ttl_days > 0)",
                "PRIMARY KEY (pattern_hash, project_id)",
            ],
            "strategies": [
                "strategy_id TEXT PRIMARY KEY", "project_id TEXT NOT NULL", "topic TEXT NOT NULL",
                "insight TEXT NOT NULL", "helpfulness INTEGER DEFAULT 0 CHECK(helpfulness >= 0)", "lang TEXT",
                "framework TEXT", f"last_seen TEXT {own_now}", f"created_at TEXT {own_now}",
            ],
            "consumption_scope": [
                "scope_id TEXT PRIMARY KEY", "session_id TEXT NOT NULL", "group_id TEXT NOT NULL",
                "agent_type TEXT NOT NULL CHECK(agent_type IN ('developer', 'qa_expert', 'tech_lead',"
                " 'senior_software_engineer', 'investigator'))",
                "iteration INTEGER NOT NULL CHECK(iteration >= 0)", "package_id INTEGER NOT NULL",
                f"consumed_at TEXT {own_now}", of_session,
                "FOREIGN KEY (package_id) REFERENCES context_packages(id) ON DELETE CASCADE",
            ],
        }  # fmt: skip
    return tables
