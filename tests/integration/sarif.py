# SPDX-License-Identifier: MIT
"""sarif.py: what the schema of SARIF 2.1.0 requires of the objects that fredctl writes."""
import json

from fredtest import check


def check_location(location):
    check(set(location) <= {"physicalLocation", "logicalLocations", "message"}, location)
    physical = location.get("physicalLocation")
    if physical:
        check(physical["artifactLocation"]["uri"] and physical["region"]["startLine"] >= 1, physical)
        check(" " not in physical["artifactLocation"]["uri"], physical)


def check_sarif(path, groups):
    """What the schema of SARIF 2.1.0 requires of the objects that are used."""
    with open(path) as f:
        log = json.load(f)
    check(set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0", log.keys())
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        check(driver["name"] and len({r["id"] for r in driver["rules"]}) == len(driver["rules"]), driver)
        for i in run["invocations"]:
            check(isinstance(i["executionSuccessful"], bool), i)
        for base in run["originalUriBaseIds"].values():
            check(base["uri"].endswith("/"), base)
        check(len(run["results"]) == groups, run["results"])
        for r in run["results"]:
            check(driver["rules"][r["ruleIndex"]]["id"] == r["ruleId"] and r["level"] == "error" and r["message"]["text"], r)
            check(r["occurrenceCount"] >= 1 and all(isinstance(v, str) for v in r["partialFingerprints"].values()), r)
            for location in r["locations"]:
                check_location(location)
            for n, location in enumerate(r.get("relatedLocations", [])):
                check(location.pop("id") == n and location["message"]["text"], location)
                check_location(location)
            for flow in r["codeFlows"]:
                for thread in flow["threadFlows"]:
                    check(thread["locations"], thread)
                    for step in thread["locations"]:
                        check_location(step["location"])
            for stack in r["stacks"]:
                for frame in stack["frames"]:
                    check_location(frame["location"])
