// Small recordings in the Slurm format.
#pragma once

#include <string>
#include <vector>

namespace kudos::testing {

inline std::string slurm_job(const std::string& user, const std::string& account, const std::string& elapsed,
                             const std::string& state, int cpus) {
  return "c,1,p,q," + account + "," + user + ",s,s,e," + elapsed + "," + state + ",1," + std::to_string(cpus) +
         ",\"cpu=1,node=1\"";
}

inline std::string slurm_file(const std::vector<std::string>& rows) {
  std::string text =
      "cluster,job_id,partition,qos,account,user,submit,start,end,elapsed,state,nnodes,ncpus,alloctres\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

}  // namespace kudos::testing
